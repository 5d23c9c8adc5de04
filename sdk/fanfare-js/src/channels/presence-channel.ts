import type { PusherEvent } from '../connection/protocol.ts';
import type { Metadata } from '../emitter.ts';
import type { AuthorizationCallback, AuthorizationData } from '../options.ts';
import { INTERNAL } from './channel.ts';
import Members from './members.ts';
import PrivateChannel from './private-channel.ts';

/** A channel whose subscribers see each other. */
export default class PresenceChannel extends PrivateChannel {
  members = new Members();

  override authorize(socketId: string, callback: AuthorizationCallback): void {
    super.authorize(socketId, (error, data) => {
      if (error) callback(error, data);
      else void this.authorized(data as AuthorizationData, callback);
    });
  }

  override handleEvent(event: PusherEvent): void {
    const { event: name, data } = event;
    const emit = (kind: string, member: object | null) =>
      member && this.emit(`pusher:member_${kind}`, member);
    if (name === `${INTERNAL}member_added`) emit('added', this.members.addMember(data));
    else if (name === `${INTERNAL}member_removed`) emit('removed', this.members.removeMember(data));
    else super.handleEvent(event);
  }

  override disconnect(): void {
    this.members.reset();
    super.disconnect();
  }

  protected override deliver(event: PusherEvent): void {
    const metadata: Metadata = event.user_id ? { user_id: event.user_id } : {};
    super.deliver(event, metadata);
  }

  protected override state(data?: Parameters<Members['onSubscription']>[0]): Members {
    if (data) this.members.onSubscription(data);
    return this.members;
  }

  /** Learns which member this client is. */
  private async authorized(
    data: AuthorizationData,
    callback: AuthorizationCallback,
  ): Promise<void> {
    let id: string | undefined;
    if (data.channel_data == null) {
      // The user of the connection is the member.
      await this.pusher.user.signinDonePromise;
      id = this.pusher.user.user_data?.id;
    } else {
      try {
        id = JSON.parse(data.channel_data).user_id;
      } catch {
        // Reported below.
      }
    }
    if (id === undefined) {
      callback('Invalid auth response');
      return;
    }
    this.members.setMyID(id);
    callback(null, data);
  }
}
