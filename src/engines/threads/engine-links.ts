import type { Loop } from '../shares.ts';
import type { EngineMessage } from './messages.ts';

/**
 * The other loops of the process, as the engine of one loop sees them. All messages from one loop to another must arrive, and
 * in order.
 */
export interface EngineLinks {
  /** Sends a message, soon. */
  send(to: Loop, message: EngineMessage): void;
  /** Sends a message, and everything before it to this loop. From the return on, the other loop can catch up with it. */
  post(to: Loop, message: EngineMessage): void;
  /** Posts what was sent. */
  flush(to: Loop): void;
  /** The messages from this loop to another that it has not handled yet. */
  backlog(loop: Loop): number;
  /** Whether other loops have posted what this one has not handled. */
  isBehind(): boolean;
  /** Handles all that was posted for the home on this loop before this call, in the order of posting. */
  catchUp(): void;
  /** Whether the loops that another loop sends to cannot keep up with it. */
  isCongested(loop: Loop): boolean;
  /** Says so about this loop. */
  setCongested(isCongested: boolean): void;
  /** Whether another loop serves the same list of apps as this one. */
  haveSameApps(loop: Loop): boolean;
}
