package dev.sumac.worker;

/**
 * What a communicator has counted since it was opened.
 *
 * @param operations operations started
 * @param packetsSent packets sent, repeated ones included
 * @param retransmissions packets sent again
 * @param packetsReceived packets received, dropped ones included
 * @param packetsDropped packets that were malformed, of another run, or from elsewhere
 * @param kernelDrops datagrams that the kernel dropped because the receive buffer was full, or -1
 *     if it does not say
 */
public record CommunicatorStats(
    long operations,
    long packetsSent,
    long retransmissions,
    long packetsReceived,
    long packetsDropped,
    long kernelDrops) {}
