/**
 * UDP endpoints on Netty: epoll with segmentation offload both ways, NIO where epoll is missing.
 * The only room that knows Netty's data path; the switch and the workers see {@link
 * dev.sumac.transport.DatagramListener} and {@link dev.sumac.transport.Outbox}, and so does
 * whatever stands in for the network.
 */
package dev.sumac.transport;
