import type { App } from './app.ts';
import type { ChannelText } from './channel-name.ts';

/** A channel of which events are lost. */
export interface LostEvents {
  readonly app: App;
  readonly channel: ChannelText;
  /**
   * Who may have missed something: all subscribers; or those who can resume, because every event has arrived, and only
   * its history is lost.
   */
  readonly affects: 'all' | 'resuming';
}
