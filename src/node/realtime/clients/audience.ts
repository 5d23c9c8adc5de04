import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { ClientAudience } from '../../../transports/clients/audience.ts';
import { ClientConnections } from '../../../transports/clients/connections.ts';
import { PublishTurns } from '../../../transports/clients/frames/publish-turns.ts';
import { SlowConsumers } from '../../../transports/clients/frames/slow-consumers.ts';
import { Coalescer } from '../../../transports/websocket/coalescing/coalescer.ts';
import { LoopShare } from '../../../transports/websocket/coalescing/loop-share.ts';
import { CompressionBudget } from '../../../transports/websocket/compression-budget.ts';
import { WebSocketTopics } from '../../../transports/websocket/websocket-topics.ts';
import type { UnreadSockets } from '../../sockets/unread-sockets.ts';
import { connectionLimit } from '../limits.ts';
import type { LoopBase } from '../loop-base.ts';
import { openUnreadSockets } from './unread-sockets.ts';

/** What one turn of the loop may publish, of what may wait for all connections. */
const PART_OF_TURN = 1 / 4;

/** The connections of a loop, and how events get to them. */
export interface AudienceParts {
  readonly connections: ClientConnections;
  readonly slowConsumers: SlowConsumers;
  /** The share of a core that this loop uses. */
  readonly loopShare: LoopShare;
  readonly coalescer: Coalescer;
  readonly topics: WebSocketTopics;
  readonly audience: ClientAudience;
  /** `undefined` with plenty of memory: nothing bounds what a turn of the loop publishes. */
  readonly turns: PublishTurns | undefined;
  /** `undefined` with plenty of memory, and where the kernel does not tell what it holds. */
  readonly unreadSockets: UnreadSockets | undefined;
}

export function openAudience(base: LoopBase): AudienceParts {
  const { settings, memory, openFiles, totals, meter } = base;
  const connections = new ClientConnections(
    connectionLimit(settings, openFiles),
    totals?.connections,
  );
  const slowConsumers = new SlowConsumers({
    connections,
    bytesMax: settings.sendBufferBytes,
    totalBytesMax: settings.waitingBytes,
    end: (connection) => void setImmediate(() => connection.terminate()),
  });
  const unreadSockets = openUnreadSockets(base, connections, slowConsumers);
  const loopShare = new LoopShare(performance.now());
  const coalescer = openCoalescer(loopShare);
  const compression = new CompressionBudget({
    meter,
    now: () => monotonicTimers.now(),
    afterTurn: (run) => void setImmediate(run),
  });
  const topics = new WebSocketTopics(slowConsumers, coalescer, compression);
  const turns = memory.isPlenty
    ? undefined
    : new PublishTurns({
        bytesMax: settings.waitingBytes * PART_OF_TURN,
        // After what was published has been sent.
        afterTurn: (run) => void setImmediate(run),
        flush: () => coalescer.flush(),
        sent() {
          slowConsumers.sample();
          unreadSockets?.check();
        },
      });
  const audience = new ClientAudience({ native: topics, connections, slowConsumers, meter, turns });
  return {
    ...{ connections, slowConsumers, loopShare, coalescer, topics, audience, turns },
    unreadSockets,
  };
}

function openCoalescer(share: LoopShare): Coalescer {
  return new Coalescer({
    now: () => performance.now(),
    busyShare: (nowMs) => share.at(nowMs),
    after: monotonicTimers.after,
    // At the end of a turn Bun first sends what was published, then runs these.
    afterTurn: (run) => void setImmediate(run),
  });
}
