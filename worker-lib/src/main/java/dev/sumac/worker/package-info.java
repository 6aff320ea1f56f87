/**
 * The library that programs link: {@link dev.sumac.worker.Communicator} is all that a user needs.
 * Inside, {@link dev.sumac.worker.Engine} takes packets and time, {@link dev.sumac.worker.Lane} is
 * SwitchML's worker on one shard, and a {@link dev.sumac.worker.ChunkCodec} turns elements into the
 * wire's words and back.
 */
package dev.sumac.worker;
