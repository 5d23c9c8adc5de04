import type { App } from '../../channels/app.ts';
import type { Broadcaster } from '../../channels/broadcast.ts';
import type { ChannelText } from '../../channels/channel-name.ts';
import type { MemberChanges } from '../../channels/lifecycle/member-changes.ts';
import type { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { HistoryMeter } from '../history/histories.ts';

/** What the topics of a loop need of it. */
export interface LoopParts {
  readonly meter: EngineMeter & HistoryMeter;
  readonly webhooks: WebhookEvents;
  readonly broadcaster: Broadcaster;
  readonly memberChanges: MemberChanges;
  /** Ends every connection of this loop that is signed in as the user. */
  readonly terminate: (app: App, userId: string) => void;
  /** Ends every connection of this loop that is subscribed to the channel and can resume. */
  readonly endResuming: (app: App, channel: ChannelText) => void;
}
