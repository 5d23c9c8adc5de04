import { messageOf } from '../../runtime/error-code.ts';
import type { BackgroundToLoop, LoopToBackground } from '../link/messages.ts';
import type { Realtime } from './realtime.ts';

/** Handles a message of the background loop. */
export function handleBackgroundMessage(
  realtime: Realtime,
  message: BackgroundToLoop,
  toBackground: (message: LoopToBackground) => void,
): void {
  switch (message.type) {
    case 'apps':
      realtime.replaceApps(message.apps, message.change);
      return;
    case 'ask':
      void answer(realtime, message).then(toBackground);
      return;
    case 'webhook-events-taken':
      realtime.webhookEventsTaken(message.events);
      return;
    case 'webhook-events-over':
      realtime.webhookEventsOver(message.ids);
      return;
    case 'rule-event-done':
      realtime.ruleEventDone(message);
      return;
    case 'push-connections':
      realtime.setPushConnections(message.open);
      return;
    case 'readiness':
      realtime.setReadiness(message.isReady);
      return;
    case 'push-answer':
      realtime.pushAnswered(message.answer);
      return;
    case 'watch':
      realtime.watch(message.apps);
      return;
    case 'cluster-send':
      realtime.notifyServers(message.to, message.text);
      return;
    case 'redis-tls':
      realtime.useRedisTls(message.tls);
      return;
    case 'goodbye':
      realtime.goodbyeReceived();
      return;
    default:
      message satisfies never;
  }
}

async function answer(
  realtime: Realtime,
  { number, question }: Extract<BackgroundToLoop, { type: 'ask' }>,
): Promise<LoopToBackground> {
  try {
    return { type: 'answer', number, answer: await realtime.answer(question) };
  } catch (error) {
    const why = messageOf(error);
    return { type: 'no-answer', number, why };
  }
}
