import type { LoopBus } from '../../../engines/redis/loop-bus.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { MemoryAppDirectory } from '../../../tenants/app-directory.ts';
import type { Clients } from '../../../transports/clients/clients.ts';
import type { HttpRoom } from '../../../transports/clients/http-room.ts';
import { SessionCluster } from '../../../transports/http-fallback/homes/session-cluster.ts';
import { SessionLinks } from '../../../transports/http-fallback/homes/session-links.ts';
import { HttpSessions } from '../../../transports/http-fallback/sessions.ts';
import type { UnreadAnswers } from '../../../transports/unread-answers.ts';
import type { LoopBase } from '../loop-base.ts';
import type { AudienceParts } from './audience.ts';

export interface FallbackParts {
  /** The bus to the loops of other servers, if there are any. */
  readonly bus: LoopBus | undefined;
  readonly clients: Clients;
  readonly apps: MemoryAppDirectory;
  readonly audience: AudienceParts;
  readonly unread: UnreadAnswers;
  /** The room for connections over HTTP on this loop. */
  readonly room: HttpRoom;
}

/** The sessions of the HTTP transports, here and on other loops. */
export interface FallbackSessions {
  /** The sessions of this loop. */
  readonly sessions: HttpSessions;
  /** The links to sessions of the other loops of this process. */
  readonly links: SessionLinks;
  /** The way to sessions of other servers, if there are several. */
  readonly cluster: SessionCluster | undefined;
}

export function openFallbackSessions(
  { settings, links, rateLimitedLog, meter }: LoopBase,
  { bus, clients, apps, audience, unread, room }: FallbackParts,
): FallbackSessions {
  const { sendBufferBytes } = settings;
  const timers = monotonicTimers;
  const afterTurn = (run: () => void) => void setImmediate(run);
  const sessions = new HttpSessions({
    clients,
    apps,
    connections: audience.connections,
    room,
    sendBufferBytes,
    unread,
    timers,
    afterTurn,
    busyShare: (nowMs) => audience.loopShare.at(nowMs),
    log: rateLimitedLog,
    meter,
    onForgotten: (session) => bus?.release(session),
    afterArrivals: (run) => (cluster ?? sessionLinks).afterArrivals(run),
  });
  const sessionLinks = new SessionLinks({
    loop: links.index,
    loops: links.count,
    sessions,
    send: (loop, message) => links.send(loop, message),
    sendBufferBytes,
    timers,
    afterTurn,
  });
  const wouldRefuse: Clients['wouldRefuse'] = (address) => clients.wouldRefuse(address);
  const cluster =
    bus && new SessionCluster({ bus, sessions, wouldRefuse, sendBufferBytes, timers });
  return { sessions, links: sessionLinks, cluster };
}
