import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import { enterAsReader } from '../../channels/subscribing/subscribe.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { PackedAddress } from '../clients/addresses/packed-address.ts';
import type { Clients, RefusedClient } from '../clients/clients.ts';
import { endWith } from '../clients/closing/end.ts';
import type { ClientConnections } from '../clients/connections.ts';
import { FlushTurns, type FlushTurnsOptions } from '../clients/frames/flush-turns.ts';
import type { HttpRoom } from '../clients/http-room.ts';
import { SMALL_ANSWER } from '../response-body.ts';
import type { UnreadAnswer, UnreadAnswers } from '../unread-answers.ts';
import type { Reading } from './read-request.ts';
import { ReaderConnection, type ReaderEnd, type ReaderEvents } from './reader-connection.ts';
import { StreamText } from './stream-text.ts';

/** A response that is silent for this long gets a comment. Milliseconds. */
const SILENT_MS = 15_000;

export interface ReadersOptions
  extends Pick<FlushTurnsOptions<ReaderConnection>, 'now' | 'busyShare' | 'afterTurn' | 'after'> {
  readonly hub: Hub;
  readonly clients: Pick<
    Clients,
    'makeRoomFor' | 'releasePlace' | 'open' | 'enter' | 'closed' | 'closedTooSlow'
  >;
  /** The connections of this loop, whatever carries them. */
  readonly connections: ClientConnections;
  readonly room: HttpRoom;
  /** Has what waits for readers that were closed. */
  readonly unread: UnreadAnswers;
  readonly sendBufferBytes: number;
  /** The clock of `expires`. */
  readonly clock: Clock;
}

/** The readers of this loop. */
export class Readers implements ReaderEvents {
  readonly now: () => number;
  private readonly options: ReadersOptions;
  private readonly flushTurns: FlushTurns<ReaderConnection>;
  private readonly open = new Set<ReaderConnection>();
  /** What waits for closed readers, which are no connections any more. */
  private readonly leaving = new Map<ReaderConnection, UnreadAnswer>();

  constructor(options: ReadersOptions) {
    this.options = options;
    this.now = options.now;
    const { now, busyShare, afterTurn, after } = options;
    this.flushTurns = new FlushTurns({
      ...{ now, busyShare, afterTurn, after },
      flush: (connection) => this.flush(connection),
    });
  }

  /** Open connections. */
  get size(): number {
    return this.open.size;
  }

  /** Makes a connection, which is not open yet. */
  make(
    { app, keyUse, channels, places, expiresAtMs }: Reading,
    address: PackedAddress,
  ): ReaderConnection {
    return new ReaderConnection({
      app,
      firstHalf: this.options.connections.newFirstHalf(),
      address,
      keyUse,
      text: new StreamText(
        channels.map(({ text }) => text),
        places,
      ),
      expiresAtMs,
      events: this,
    });
  }

  /** Makes room for a connection, for which the app has a place; or returns why it is refused, and gives the place back. */
  makeRoomFor(connection: ReaderConnection): RefusedClient | undefined {
    const { clients, room } = this.options;
    const full = room.makeFor(connection);
    if (full !== undefined) clients.releasePlace(connection.app);
    return full ?? clients.makeRoomFor(connection);
  }

  /** Opens a connection that has a response, and enters its channels, one after the other. */
  begin(connection: ReaderConnection, reading: Reading): void {
    const { clients, room } = this.options;
    this.open.add(connection);
    room.add(connection);
    clients.open(connection);
    // Bun sends the head of a response with its first bytes. The client must not wait for an engine.
    connection.flush();
    void this.enter(connection, reading);
  }

  /** Ends connections whose time is over, and keeps silent responses alive. Called once a second. */
  check(): void {
    const nowMs = this.options.clock.now();
    const silentSinceMs = this.now() - SILENT_MS;
    for (const connection of this.open) {
      // Without an error: whoever comes back is told that the signature has expired.
      if (connection.expiresAtMs <= nowMs) connection.close();
      else connection.keepAlive(silentSinceMs);
    }
  }

  queued(connection: ReaderConnection): void {
    this.flushTurns.add(connection);
  }

  ended(connection: ReaderConnection, how: ReaderEnd): void {
    const { clients, room } = this.options;
    this.open.delete(connection);
    const wasTooSlow = clients.closed(connection);
    room.remove(connection);
    if (how === 'too-slow' || (how === 'terminated' && wasTooSlow)) {
      clients.closedTooSlow(connection);
    }
    if (how === 'closed') this.keepUnread(connection);
  }

  gone(connection: ReaderConnection): void {
    const answer = this.leaving.get(connection);
    if (answer === undefined) return;
    this.leaving.delete(connection);
    this.options.unread.release(answer);
  }

  private async enter(connection: ReaderConnection, { channels, places }: Reading): Promise<void> {
    const { hub, clients } = this.options;
    for (const [index, channel] of channels.entries()) {
      const place = { after: places[index] ?? 'none', socketIds: [] };
      await clients.enter(connection, () => enterAsReader(hub, connection, channel, place));
      if (!connection.isOpen) return;
      // The server is full. A stream without one of its channels would seem to be whole.
      if (connection.subscription(channel.text) === undefined) {
        return endWith(connection, 'server-over-capacity');
      }
    }
  }

  private flush(connection: ReaderConnection): void {
    if (connection.flushBehind() > this.options.sendBufferBytes) connection.drop('too-slow');
  }

  /** A closed reader is no connection whose bytes are counted, but its client may still read what waits for it. */
  private keepUnread(connection: ReaderConnection): void {
    if (connection.waitingBytes() <= SMALL_ANSWER) return;
    const answer: UnreadAnswer = {
      owner: connection.app.id,
      waitingBytes: () => connection.waitingBytes(),
      break: () => connection.drop('left'),
    };
    if (this.options.unread.hold(answer)) this.leaving.set(connection, answer);
    else connection.drop('left');
  }
}

/** The app of a reading is served no longer, or in another way. */
export function isOutdated({ app }: Pick<Reading, 'app'>, served: App | undefined): boolean {
  return served !== app || !app.enabled;
}
