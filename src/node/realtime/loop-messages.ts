import type { Usage } from '../../channels/usage/usage.ts';
import type { UnreadableMessages } from '../../runtime/unreadable.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { SessionLinks } from '../../transports/http-fallback/homes/session-links.ts';
import type { LoopLinks } from '../link/loop-links.ts';
import { loopName } from '../link/loop-name.ts';
import { isOfEngine, type LoopMessage } from '../link/messages.ts';
import type { LoopEngine } from './engine/engine.ts';
import type { LiveLoop } from './engine/live-loop.ts';
import type { QuotaExchange } from './engine/quota-exchange.ts';

export interface LoopReceivers {
  readonly engine: LoopEngine;
  readonly sessions: SessionLinks;
  readonly live: LiveLoop;
  readonly exchange: QuotaExchange | undefined;
  readonly apps: MemoryAppDirectory;
  readonly usage: Usage;
  readonly unreadable: UnreadableMessages;
}

/** Hands the messages of the other loops of this process to those that they are for. */
export function receiveFromLoops(links: LoopLinks, receivers: LoopReceivers): void {
  const { engine, sessions, live, exchange, apps, usage, unreadable } = receivers;
  const take = (from: number, message: LoopMessage) => {
    if (isOfEngine(message)) engine.threads?.receive(from, message);
    else if (message.type === 'session') sessions.receive(from, message);
    else if (message.type === 'live-ask') live.take(message.message);
    else exchange?.receive(message, apps, usage);
  };
  links.receive((from, messages) => {
    for (const message of messages) {
      try {
        take(from, message);
      } catch (error) {
        const kind = isOfEngine(message) ? message[0] : message.type;
        unreadable.drop('thread', `${loopName(from)} ${kind}`, error);
      }
    }
    engine.threads?.received(from);
  });
}
