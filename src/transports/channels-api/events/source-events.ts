import type { App } from '../../../channels/app.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import { EngineFailure, logFailure } from '../../../channels/engine-failure.ts';
import type { Hub } from '../../../channels/hub.ts';
import { type MaybePromise, recover } from '../../../channels/maybe-promise.ts';
import type { SourceAnswer, SourceEvent } from '../../../channels/sources/source-event.ts';
import { ApiRefusal, invalid, statuses } from '../problems.ts';
import { readTrigger, type Trigger } from './read-event.ts';
import { countTrigger, publishAll } from './trigger.ts';
import { chargeRefused, refuseTrigger } from './trigger-rate.ts';

const SENT: SourceAnswer = { status: 200, text: '' };
const UNTRIED: SourceAnswer = { status: 0, text: '' };

/** Events of one turn of the loop, and of as many channels at the same time. */
const AT_ONCE = 64;

export interface SourceSend {
  readonly hub: Hub;
  readonly app: App;
  /** Whether no further event may be begun. */
  readonly isOver: () => boolean;
  /** Lets the loop do other work. */
  readonly nextTurn: () => Promise<void>;
}

/**
 * Sends events under the rules and limits of `POST /events`. Those of a channel are sent one after the other, those of different
 * channels at the same time; an event of several channels waits for all before it. What breaks a rule holds up nobody. After the
 * first event that cannot be sent now, no other is begun.
 */
export async function sendSourceEvents(
  send: SourceSend,
  events: readonly SourceEvent[],
): Promise<readonly SourceAnswer[]> {
  const answers: SourceAnswer[] = [];
  let isStopped = false;
  const piece = {
    ...send,
    isOver: () => isStopped || send.isOver(),
    stop: () => (isStopped = true),
  };
  for (let begin = 0; begin < events.length; begin += AT_ONCE) {
    if (begin > 0) await send.nextTurn();
    answers.push(...(await sendPiece(piece, events.slice(begin, begin + AT_ONCE))));
  }
  return answers;
}

interface PieceSend extends SourceSend {
  /** Called when an event cannot be sent now. */
  readonly stop: () => void;
}

async function sendPiece(
  send: PieceSend,
  events: readonly SourceEvent[],
): Promise<readonly SourceAnswer[]> {
  const order = new ChannelOrder();
  const answers = events.map((event): MaybePromise<SourceAnswer> => {
    if (send.isOver()) return UNTRIED;
    const body = Buffer.from(event.json);
    const trigger = readTrigger(send.app, body, []);
    if (trigger instanceof ApiRefusal) {
      chargeRefused({ ...send, body });
      return answerOf(trigger);
    }
    // A producer needs the answer of each piece before it sends the next.
    if (trigger.append !== undefined) return answerOf(invalid('append: not in an outbox'));
    return order.run(trigger.channels, () => {
      if (send.isOver()) return UNTRIED;
      const stopAt = (answer: SourceAnswer): SourceAnswer => {
        if (answer !== SENT) send.stop();
        return answer;
      };
      const sent = recover(
        () => sendOne(send, event, { trigger, body }),
        (error) => failed(send, error),
      );
      return sent instanceof Promise ? sent.then(stopAt) : stopAt(sent);
    });
  });
  return await Promise.all(answers);
}

function sendOne(
  { hub, app }: SourceSend,
  { key }: SourceEvent,
  { trigger, body }: { readonly trigger: Trigger; readonly body: Uint8Array },
): MaybePromise<SourceAnswer> {
  if (!app.enabled) return answerOf(new ApiRefusal('app-disabled', 'The app is disabled'));
  const refused =
    refuseTrigger(hub.usage, app) ?? countTrigger({ hub, app, body, parameters: [] }, trigger);
  if (refused !== undefined) return answerOf(refused);
  const { idempotencyKey = key } = trigger;
  const published = publishAll({ hub, app }, [{ ...trigger, idempotencyKey }]);
  return published instanceof Promise ? published.then(() => SENT) : SENT;
}

function answerOf({ problem, text }: ApiRefusal): SourceAnswer {
  return { status: statuses[problem].status, text: text.trim() };
}

function failed({ hub, app }: SourceSend, error: unknown): SourceAnswer {
  logFailure(hub.rateLimitedLog, error, {
    message: 'An event of a source could not be sent',
    whose: { app: app.id },
    fields: {},
  });
  return error instanceof EngineFailure
    ? { status: 503, text: 'The server cannot reach what servers share' }
    : { status: 500, text: 'The server failed; its log has the reason' };
}

/** Runs what is about the same channel one after the other. What does not have to wait runs at once, without a promise. */
class ChannelOrder {
  /** The last of each channel that has not settled. */
  private readonly last = new Map<string, Promise<unknown>>();
  /** The last of several channels, for which everything behind it waits. */
  private barrier: Promise<unknown> | undefined;

  run<T>(channels: readonly ChannelName[], work: () => MaybePromise<T>): MaybePromise<T> {
    const [first, ...more] = channels;
    const isBarrier = first === undefined || more.length > 0;
    const before = isBarrier ? this.all() : (this.last.get(first.text) ?? this.barrier);
    const result = before === undefined ? work() : before.then(work);
    if (!(result instanceof Promise)) return result;
    if (isBarrier) {
      this.last.clear();
      this.barrier = result;
    } else {
      this.last.set(first.text, result);
    }
    return result;
  }

  private all(): Promise<unknown> | undefined {
    const { barrier } = this;
    if (this.last.size === 0) return barrier;
    return Promise.all([barrier, ...this.last.values()]);
  }
}
