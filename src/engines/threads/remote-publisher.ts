import type { EventId } from '../../channels/history/event-id.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { Publication } from '../../channels/ports.ts';
import type { Loop } from '../shares.ts';
import type { Congestion } from './congestion.ts';
import type { EngineLinks } from './engine-links.ts';
import type { HomeAnswerTo, Question } from './messages.ts';
import type { Questions } from './questions.ts';

/** Of so many events that need no answer, one is answered to measure how long that takes. */
const POSTED_PER_MEASURED = 64;

export interface RemotePublisherOptions {
  readonly others: Pick<EngineLinks, 'post' | 'flush' | 'haveSameApps'>;
  /** Questions to the homes on other loops, by loop. */
  readonly questions: readonly Questions[];
  readonly congestion: Congestion;
}

/**
 * Publishes events of this loop whose home is on another one. Waits for the home only if its answer says more than that it has the
 * event: a home catches up with everything that was posted before it handles what comes later.
 */
export class RemotePublisher {
  private readonly options: RemotePublisherOptions;
  private posted = 0;

  constructor(options: RemotePublisherOptions) {
    this.options = options;
  }

  publish(home: Loop, publication: Publication): MaybePromise<EventId | undefined> {
    const { app, channel, makeFrame, except, cause, remember, trace, ask, sentTo } = publication;
    const { idempotencyKey, stops } = publication;
    const { name, data } = remember ?? {};
    const event = [channel, makeFrame(), except, cause, name, data, trace] as const;
    if (ask !== undefined) {
      return this.ask(home, ['publish-ask', app.id, ...event, ask], ([id, loops]) => {
        sentTo?.(loops);
        return id;
      });
    }
    if (this.needsAnswer(home, publication)) {
      return this.ask(home, ['publish', app.id, ...event, idempotencyKey, stops], (id) => id);
    }
    const { others, congestion } = this.options;
    if (this.posted++ % POSTED_PER_MEASURED > 0) {
      others.post(home, ['post', app.id, ...event]);
    } else {
      // Nobody waits for it, but the metric needs to know how long homes take.
      this.ask(home, ['publish', app.id, ...event], nothing).catch(nothing);
      others.flush(home);
    }
    return after(congestion.passTo(home), nothing);
  }

  private needsAnswer(home: Loop, publication: Publication): boolean {
    const { app, channel, cause, idempotencyKey, stops, isFollowed } = publication;
    return (
      idempotencyKey !== undefined ||
      stops !== undefined ||
      isFollowed === true ||
      (cause === 'backend' && historyRuleOf(app, channel) !== undefined) ||
      // The home may not know the app yet, or not the rule of its history.
      !this.options.others.haveSameApps(home)
    );
  }

  private ask<Asked extends Question, T>(
    home: Loop,
    question: Asked,
    answered: (answer: HomeAnswerTo<Asked[0]>) => T,
  ): Promise<T> {
    const questions = this.options.questions[home];
    if (questions === undefined) throw new Error(`There is no loop ${home}`);
    return questions.ask(question, answered);
  }
}

function nothing(): undefined {
  return undefined;
}
