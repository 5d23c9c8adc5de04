import type { Places } from '../../../resume/places.js';
import type { ChannelAuthorizationHandler } from '../options.ts';

/** What channels use of the client. */
export interface ChannelOwner {
  readonly connection: { readonly socket_id: string };
  readonly config: { readonly channelAuthorizer: ChannelAuthorizationHandler };
  readonly user: {
    readonly signinDonePromise: Promise<void> | null;
    readonly user_data: { readonly id: string } | null;
  };
  /** Undefined: the client does not resume. */
  readonly resumption?: Places | undefined;
  channel(name: string): object | undefined;
  send_event(event: string, data: unknown, channel?: string): boolean;
  unsubscribe(name: string): void;
}
