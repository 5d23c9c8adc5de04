import type { LoopNotice } from '../../engines/redis/loop-bus.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { Unreadable, UnreadableMessages } from '../../runtime/unreadable.ts';
import { loopName } from '../link/loop-name.ts';
import type { LoopToBackground } from '../link/messages.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import type { Background } from './background.ts';
import type { ClusterPart } from './cluster/open-cluster.ts';
import type { Foundation } from './foundation.ts';
import type { HistoryFile } from './history-file.ts';
import type { PushRules } from './push/rules.ts';
import type { Services } from './services.ts';

export interface LoopReceivers
  extends Pick<Foundation, 'readiness' | 'ring' | 'log' | 'meter'>,
    Pick<Services, 'usage' | 'webhooks' | 'watching' | 'push'> {
  readonly realtime: RealtimeClient;
  readonly servers: ClusterPart;
  readonly pushRules: PushRules;
  readonly historyFile: HistoryFile;
}

/** Makes the function that hands messages of the realtime loops to those that they are for. */
export function receiverOf(receivers: LoopReceivers): Background['receive'] {
  const { realtime, readiness, usage, ring, webhooks, push, pushRules, servers } = receivers;
  const { watching, historyFile, log, meter } = receivers;
  const unreadable = new UnreadableMessages({ log, meter, clock: monotonicTimers });
  const receiveNotice = ({ from, text }: LoopNotice) => {
    try {
      // Each part ignores messages that are for the other.
      const isTaken = servers.receive(from, text) || watching.receiveFrom(from, text);
      if (!isTaken) throw new Unreadable('It is for no part of this version');
    } catch (error) {
      unreadable.drop('server', from, error);
    }
  };
  return (loop, message) => {
    switch (message.type) {
      case 'answer':
        realtime.settle(message.number, message.answer);
        return;
      case 'no-answer':
        realtime.notAnswered(message.number, message.why);
        return;
      case 'engine':
        readiness.setEngine(loopName(loop), message.away);
        return;
      case 'usage':
        usage.keep(message.usage);
        return;
      case 'logged':
        for (const line of message.lines) ring.add(line);
        return;
      case 'push-request': {
        const { request } = message;
        push.serveForwarded(request, (bytes) =>
          realtime.post(loop, { type: 'push-answer', answer: { number: request.number, bytes } }),
        );
        return;
      }
      case 'webhook-events':
        webhooks.accept(message.events, (id) => realtime.webhookEventOver(loop, id));
        realtime.post(loop, { type: 'webhook-events-taken', events: message.events.length });
        return;
      case 'rule-event':
        void pushRules.take(message.event).finally(() => {
          const { appId, data } = message.event;
          realtime.post(loop, { type: 'rule-event-done', appId, dataLength: data.length });
        });
        return;
      case 'cluster-received':
        receiveNotice(message.notice);
        return;
      case 'tapped':
      case 'cluster-sent':
        watching.receive(message);
        return;
      case 'histories':
        historyFile.add(message.saved);
        return;
      case 'goodbye':
        realtime.post(loop, message);
        return;
      default:
        message satisfies never;
        unreadable.drop('thread', loopName(loop), new Unreadable('Its kind is not known'));
    }
  };
}

/** Receives from the realtime loops that do not run on the main thread. */
export function receiveFromThreads(
  ports: readonly MessagePort[],
  receive: Background['receive'],
): void {
  for (const [place, port] of ports.entries()) {
    port.onmessage = ({ data }: { readonly data: LoopToBackground }) => receive(place + 1, data);
  }
}
