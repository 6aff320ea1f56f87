/** The command {@code sumac}: one class a subcommand, what they share beside them. */
package dev.sumac.cli;
