import { Unreadable } from '../../../runtime/unreadable.ts';
import type { Loop } from '../../shares.ts';
import type { RedisEngineServer } from '../engine-server.ts';
import type { RedisListener } from '../link/redis-server.ts';
import type { RedisLink } from '../redis-link.ts';
import type { FromOwner, RedisLinkMessage, ToOwner } from './messages.ts';
import { RemoteLink } from './remote-link.ts';
import { SharedLink, type SharedLinkOptions } from './shared-link.ts';
import { halfOf, SplitLink } from './split-link.ts';
import { readStreamTexts, streamText } from './stream-texts.ts';

/** The limit of loops of a process with connections to one Redis server. */
const OWNERS_MAX = 4;

/** The other loops of the process. */
export interface OtherLoops {
  /** The number of this loop. */
  readonly index: Loop;
  /** The number of all loops. */
  readonly count: number;
  /** Texts in a row may be handed over as one. */
  send(to: Loop, message: RedisLinkMessage | string): void;
}

/** See `RedisEngineOptions`. */
export interface LinksOfLoop {
  readonly servers: readonly RedisEngineServer[];
  readonly linksPerServer: number;
  readonly busLink: number;
}

interface LinkPlace {
  /** The place in the list. */
  readonly link: number;
  readonly owner: Loop;
  /** The place of the link to the same server that this loop owns. */
  readonly ownLink: number | undefined;
}

/**
 * The links to Redis that the loops of a process share. Each link belongs to one loop, which has its connections, and the
 * others follow streams over it. So a message of a stream comes once to each process. A loop with connections to the server
 * sends commands over these, and the others send them to the owner of the link.
 */
export class SharedLinks {
  private readonly loops: OtherLoops;
  private readonly meter: SharedLinkOptions['meter'];
  /** Of each link, in its place: what this loop has of it. */
  private readonly own: (SharedLink | undefined)[] = [];
  private readonly remote: (RemoteLink | undefined)[] = [];

  constructor(loops: OtherLoops, meter: SharedLinkOptions['meter']) {
    this.loops = loops;
    this.meter = meter;
  }

  /**
   * Returns the links, in the same order on all loops. A server is reached over one link of each of up to four loops, and
   * gets its partitions in equal parts over them. A slot of a cluster, which is one of many, has one link.
   */
  over(servers: readonly RedisEngineServer[]): LinksOfLoop {
    const { index, count } = this.loops;
    const owners = Math.min(OWNERS_MAX, count);
    const isOfCluster = servers[0]?.place.tag !== undefined;
    const linksPerServer = isOfCluster ? 1 : owners;
    const links = Array.from({ length: linksPerServer }, (_, time) =>
      servers.map((server, number) => {
        const link = time * servers.length + number;
        // The time at which this loop owns the link to the server, if there is one.
        const ownTime = (index + owners * servers.length - number) % owners;
        const hasOwn = index < owners && ownTime < linksPerServer;
        const ownLink = hasOwn ? ownTime * servers.length + number : undefined;
        return this.linkTo(server, { link, owner: (time + number) % owners, ownLink });
      }),
    ).flat();
    // Its own link to the first server, if it has one.
    const busLink = index < linksPerServer ? index * servers.length : 0;
    return { servers: links, linksPerServer, busLink };
  }

  /** Handles a message of another loop. */
  receive(from: Loop, message: RedisLinkMessage | string): void {
    if (typeof message === 'string') {
      readStreamTexts(message, (one) => this.remote[one.link]?.hear(one));
      return;
    }
    const { link, what } = message;
    const own = this.own[link];
    const remote = this.remote[link];
    if (own !== undefined) own.receive(from, what as ToOwner);
    else if (remote !== undefined) remote.receive(what as FromOwner);
    else throw new Unreadable(`There is no link ${link}`);
  }

  private linkTo(
    server: RedisEngineServer,
    { link, owner, ownLink }: LinkPlace,
  ): RedisEngineServer {
    const { index, send } = { index: this.loops.index, send: this.loops.send.bind(this.loops) };
    const { name, place } = server;
    const post = (to: Loop, what: ToOwner | FromOwner) => send(to, { type: 'redis', link, what });
    if (owner === index) {
      const sendStreamMessage: SharedLinkOptions['sendStreamMessage'] = (to, message) =>
        send(to, streamText({ link, ...message }));
      const options = { server, owner, send: post, sendStreamMessage, meter: this.meter };
      const shared = new SharedLink(options);
      this.own[link] = shared;
      return { name, place, open: (listener) => shared.open(listener) };
    }
    const remote = new RemoteLink((message) => post(owner, message));
    this.remote[link] = remote;
    return { name, place, open: (listener) => this.open(remote, listener, ownLink) };
  }

  private async open(
    remote: RemoteLink,
    listener: RedisListener,
    ownLink: number | undefined,
  ): Promise<RedisLink> {
    const own = ownLink === undefined ? undefined : this.own[ownLink];
    if (own === undefined) return await remote.open(listener);
    let split: SplitLink | undefined;
    const half = halfOf(listener, () => split);
    split = new SplitLink(...(await Promise.all([own.openHalf(half), remote.open(half)])));
    return split;
  }
}
