import type { ChannelCounts, Member } from '../ports.ts';
import type { LargeRule } from '../presence-rule.ts';

/** What one join or leave changed. Everything that clients and webhooks are sent about it follows from this. */
export interface Transition {
  /** This was the first subscription. */
  readonly occupied: boolean;
  /** This was the last subscription. */
  readonly vacated: boolean;
  /** This was the first connection of this user. */
  readonly memberAdded: boolean;
  /** This was the last connection of this user. */
  readonly memberRemoved: boolean;
  readonly counts: ChannelCounts;
  /** Set if the channel is large. */
  readonly large?: LargeRule | undefined;
  /** This user returned with another info, without having been gone. As others know the user. */
  readonly replaced?: Member | undefined;
}
