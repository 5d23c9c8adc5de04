import type { PusherEvent } from '../connection/protocol.ts';
import { UnsupportedFeature } from '../errors.ts';
import log from '../log.ts';
import type { AuthorizationCallback, AuthorizationData, Nacl } from '../options.ts';
import type { ChannelOwner } from './channel-owner.ts';
import PrivateChannel from './private-channel.ts';

/** Throws on a text that is none. */
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** React Native has no `TextDecoder`. Throws on bytes that are no text. */
const textOf = (bytes: Uint8Array) =>
  decodeURIComponent(escape(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')));

/** A channel whose events only backends and authorised subscribers can read. */
export default class EncryptedChannel extends PrivateChannel {
  key: Uint8Array | null = null;
  declare nacl: Nacl;
  /** Events that wait for a new key. */
  declare private waiting: PusherEvent[] | undefined;

  constructor(name: string, pusher: ChannelOwner, nacl: Nacl) {
    super(name, pusher);
    this.nacl = nacl;
  }

  override authorize(socketId: string, callback: AuthorizationCallback): void {
    super.authorize(socketId, (error, data) => {
      if (error) return callback(error, data);
      const { shared_secret, ...rest } = data as AuthorizationData;
      try {
        // Whatever is no base64 is no key.
        this.key = fromBase64(shared_secret || '*');
      } catch {
        return callback(
          new Error(`No shared_secret key in auth payload for encrypted channel: ${this.name}`),
          null,
        );
      }
      callback(null, rest);
    });
  }

  override trigger(): boolean {
    throw new UnsupportedFeature(
      'Client events are not currently supported for encrypted channels',
    );
  }

  override disconnect(): void {
    this.waiting = undefined;
    super.disconnect();
  }

  protected override deliver(event: PusherEvent): void {
    if (event.event.startsWith('pusher:')) super.deliver(event);
    else if (this.waiting) this.waiting.push(event);
    else if (this.key && !this.open(event)) this.openWithNewKey(event);
  }

  /** Gives an event to the handlers if the key opens it; `false`: another key might. */
  private open({ event, data, id }: PusherEvent): boolean {
    const { overheadLength, nonceLength, open } = this.nacl.secretbox;
    let box: Uint8Array;
    let nonce: Uint8Array;
    try {
      box = fromBase64(data.ciphertext);
      nonce = fromBase64(data.nonce);
      if (box.length < overheadLength || nonce.length < nonceLength) throw data;
    } catch {
      log.error('Unexpected encrypted event', data);
      return true;
    }
    const bytes = open(box, nonce, this.key as Uint8Array);
    if (!bytes) return false;
    let content: unknown = textOf(bytes);
    try {
      content = JSON.parse(content as string);
    } catch {
      // It is a text.
    }
    this.emit(event, content, id ? { id } : undefined);
    this.pusher.resumption?.handled(this.name, id);
    return true;
  }

  /** Asks for the key once more. Later events wait, so that the order stays. */
  private openWithNewKey(event: PusherEvent): void {
    const waiting: PusherEvent[] = [];
    this.waiting = waiting;
    this.authorize(this.pusher.connection.socket_id, (error, data) => {
      // The connection is gone, and with it the events.
      if (this.waiting !== waiting) return;
      this.waiting = undefined;
      try {
        if (error) {
          log.error(
            `Failed to make a request to the authEndpoint: ${data}. Unable to fetch new key, so dropping encrypted event`,
          );
        } else if (!this.open(event)) {
          log.error('Failed to decrypt event with new key. Dropping encrypted event');
        }
      } finally {
        for (const next of waiting) this.deliver(next);
      }
    });
  }
}
