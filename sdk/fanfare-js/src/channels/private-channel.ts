import type { AuthorizationCallback } from '../options.ts';
import Channel from './channel.ts';

/** A channel that a backend must authorise. */
export default class PrivateChannel extends Channel {
  override authorize(socketId: string, callback: AuthorizationCallback): void {
    this.pusher.config.channelAuthorizer({ channelName: this.name, socketId }, callback);
  }
}
