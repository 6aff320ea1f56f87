/**
 * The switch: {@link dev.sumac.dataplane.Shard} is a packet's whole way (parse, match, act, emit),
 * {@link dev.sumac.dataplane.SwitchMlProgram} the aggregation, {@link
 * dev.sumac.dataplane.Admission} who may take part, {@link dev.sumac.dataplane.AggregationSwitch}
 * the process's parts put together.
 */
package dev.sumac.dataplane;
