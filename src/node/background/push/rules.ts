import type { App, PushRule } from '../../../channels/app.ts';
import {
  interestFor,
  pushRulesFor,
  type RuleEvent,
} from '../../../channels/push-rules/push-rule.ts';
import type { TableMeter } from '../../../observability/meter.ts';
import type { PushInstance } from '../../../push/model/instance.ts';
import type { LiveRequest } from '../../../push/model/live.ts';
import { PushRefusal } from '../../../push/refusal.ts';
import { bodyOfRule, Unfit } from '../../../push/rules/rule-publish.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Clock, Log } from '../../../runtime/ports.ts';
import { perSecond, TokenBucket } from '../../../runtime/rates/token-bucket.ts';
import type { AcceptPublish } from '../../../transports/push-api/endpoints/backend/publish.ts';
import { OVER_RATE, RuleLog } from '../../link/rule-log.ts';

export interface PushRulesOptions {
  readonly apps: { byId(id: string): App | undefined };
  readonly instances: { byId(id: string): PushInstance | undefined };
  readonly accept: AcceptPublish;
  readonly meter: TableMeter;
  /** A monotonic clock. */
  readonly clock: Clock;
  readonly log: Log;
}

/** The result of an event for one rule. */
type Result = 'published' | 'over-rate' | 'unfit' | 'refused' | 'failed';

/** How long connections have to answer whether they have received the event. */
const WAIT_SECONDS = 4;

/** Turns events of apps into publishes, by the push rules of the apps. */
export class PushRules implements AsyncDisposable {
  private readonly options: PushRulesOptions;
  private readonly rates = new WeakMap<PushRule, TokenBucket>();
  private readonly log: RuleLog;
  private readonly inProgress = new Set<Promise<unknown>>();

  constructor(options: PushRulesOptions) {
    this.options = options;
    this.log = new RuleLog(options.log, options.clock);
  }

  /** Publishes an event for every rule that matches. Settles when all are handled; never rejects. */
  async take(event: RuleEvent): Promise<void> {
    const app = this.options.apps.byId(event.appId);
    if (app === undefined || !app.enabled) return;
    const applied = Promise.all(
      pushRulesFor(app, event).map((rule) => this.apply(app, rule, event)),
    );
    this.inProgress.add(applied);
    await applied;
    this.inProgress.delete(applied);
  }

  /** Settles when all events in progress are handled. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.inProgress);
  }

  private async apply(app: App, rule: PushRule, event: RuleEvent): Promise<void> {
    const [result, why] = await this.publish(app, rule, event);
    this.options.meter.count('ruleEvents', 1, result);
    if (result !== 'published') this.log.notPublished(app, rule, { event, result, why });
  }

  private async publish(
    app: App,
    rule: PushRule,
    event: RuleEvent,
  ): Promise<readonly [result: Result, why?: string]> {
    if (!this.isWithinRate(rule)) return ['over-rate', OVER_RATE];
    const instance = this.options.instances.byId(rule.instance);
    if (instance === undefined) return ['refused', `there is no push instance ${rule.instance}`];
    const { apns, fcm, web, users } = rule;
    const interest = rule.interest === undefined ? undefined : interestFor(rule, event.channel);
    const body = bodyOfRule({ interest, users, payloads: given({ apns, fcm, web }) }, event.data);
    if (body instanceof Unfit) return ['unfit', body.why];
    try {
      const accepted = await this.options.accept(instance, {
        kind: interest === undefined ? 'users' : 'interests',
        body: Buffer.from(JSON.stringify(body)),
        idempotencyKey: keyOf(app, rule, event),
        ofRule: {
          rule: { app: app.id, channel: event.channel, event: event.name },
          live: liveOf(event),
        },
      });
      if (!(accepted instanceof PushRefusal)) return ['published'];
      return ['refused', accepted.description];
    } catch (error) {
      return ['failed', messageOf(error)];
    }
  }

  private isWithinRate(rule: PushRule): boolean {
    const rate = perSecond(rule.perSecond);
    const nowMs = this.options.clock.now();
    const bucket = this.rates.get(rule) ?? new TokenBucket(rate, nowMs);
    this.rates.set(rule, bucket);
    return bucket.take(rate, nowMs);
  }
}

/** Only subscribers of the channel are asked. They were sent the event already. */
function liveOf({ name, data, channel }: RuleEvent): LiveRequest {
  return {
    event: name,
    data,
    channel,
    waitSeconds: WAIT_SECONDS,
    push: 'absent',
    isSent: true,
  };
}

/** Equal for every repetition of an event, also on other servers. */
function keyOf(app: App, rule: PushRule, event: RuleEvent): string | undefined {
  if (event.idempotencyKey === undefined) return undefined;
  const named = [app.id, app.pushRules.indexOf(rule), event.channel, event.idempotencyKey];
  return `rule-${new Bun.CryptoHasher('sha256').update(JSON.stringify(named)).digest('hex')}`;
}

function given(payloads: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(payloads).filter(([, one]) => one !== undefined));
}
