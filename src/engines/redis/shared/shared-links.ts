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

/**
 * How many loops one of them gets the messages of streams for. Each loop that has to wake up for the messages of one
 * moment costs more than reading them, so few loops get many; but the one that gets them must not fall behind.
 */
const LOOPS_PER_LINK = 4;

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
  /** The connections of this loop to the same server, if it has some. */
  readonly own: SharedLink | undefined;
}

/**
 * The links to Redis that the loops of a process share. Each link belongs to one loop, which has its connections, and the
 * others follow streams over it. So a message of a stream comes once to each process. Up to four loops have connections to
 * a server and send commands over these, and the others send them to the owner of the link.
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
   * Returns the links, in the same order on all loops. A server is reached over one link for each four loops, and gets its
   * partitions in equal parts over them. A slot of a cluster, which is one of many, has one link, and all loops send
   * commands over it.
   */
  over(servers: readonly RedisEngineServer[]): LinksOfLoop {
    const { index, count } = this.loops;
    const owners = Math.min(OWNERS_MAX, count);
    const isOfCluster = servers[0]?.place.tag !== undefined;
    const linksPerServer = isOfCluster
      ? 1
      : Math.min(OWNERS_MAX, Math.ceil(count / LOOPS_PER_LINK));
    const own = servers.map((server, number) => {
      // The time at which this loop owns the link to the server, if there is one.
      const time = (index + owners * servers.length - number) % owners;
      const isOwner = index < owners && time < linksPerServer;
      const link = isOwner ? time * servers.length + number : undefined;
      return isOwner || (index < owners && !isOfCluster) ? this.connect(server, link) : undefined;
    });
    const links = Array.from({ length: linksPerServer }, (_, time) =>
      servers.map((server, number) => {
        const link = time * servers.length + number;
        return this.linkTo(server, { link, owner: (time + number) % owners, own: own[number] });
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

  /** The connections of this loop to a server. `link`: the link that they are for; `undefined`: only for its commands. */
  private connect(server: RedisEngineServer, link: number | undefined): SharedLink {
    const { loops, meter } = this;
    const shared = new SharedLink({
      server,
      owner: loops.index,
      send: (to, what) => link !== undefined && loops.send(to, { type: 'redis', link, what }),
      sendStreamMessage: (to, message) =>
        link !== undefined && loops.send(to, streamText({ link, ...message })),
      meter,
    });
    if (link !== undefined) this.own[link] = shared;
    return shared;
  }

  private linkTo(
    { name, place }: RedisEngineServer,
    { link, owner, own }: LinkPlace,
  ): RedisEngineServer {
    const shared = this.own[link];
    if (shared !== undefined) return { name, place, open: (listener) => shared.open(listener) };
    const remote = new RemoteLink((what) => this.loops.send(owner, { type: 'redis', link, what }));
    this.remote[link] = remote;
    if (own === undefined) return { name, place, open: (listener) => remote.open(listener) };
    return { name, place, open: (listener) => openSplit(own, remote, listener) };
  }
}

async function openSplit(
  own: SharedLink,
  remote: RemoteLink,
  listener: RedisListener,
): Promise<RedisLink> {
  let split: SplitLink | undefined;
  const half = halfOf(listener, () => split);
  split = new SplitLink(...(await Promise.all([own.openHalf(half), remote.open(half)])));
  return split;
}
