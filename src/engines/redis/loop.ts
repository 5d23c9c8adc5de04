import type { App } from '../../channels/app.ts';
import type { Broadcaster } from '../../channels/broadcast.ts';
import type { MemberBatches } from '../../channels/lifecycle/member-batches.ts';
import type { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import type { LostEvents } from '../../channels/lost-events.ts';
import type { UnreadableMessages } from '../../runtime/unreadable.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { HistoryMeter } from '../history/histories.ts';

/** What topics need from their loop. */
export interface LoopParts {
  readonly meter: EngineMeter & HistoryMeter;
  readonly webhooks: WebhookEvents;
  readonly broadcaster: Broadcaster;
  readonly memberBatches: MemberBatches;
  readonly unreadable: UnreadableMessages;
  /** Closes all connections of this loop that are signed in as the user. */
  readonly terminate: (app: App, userId: string) => void;
  /** Closes connections of this loop that may have missed events. Those that can resume are closed before it returns. */
  readonly eventsLost: (lost: readonly LostEvents[]) => void;
}
