import type { App, PushRule } from '../../channels/app.ts';
import type { RuleEvent } from '../../channels/push-rules/push-rule.ts';
import { LogThrottle } from '../../runtime/logging/log-throttle.ts';
import type { Clock, Log } from '../../runtime/ports.ts';

/** The reason in the log for an event over the rate of its rule. */
export const OVER_RATE = 'the rule has reached `perSecond`';

/** Logs events that a rule did not publish, once a minute for each rule and reason. */
export class RuleLog {
  private readonly log: Pick<Log, 'warn'>;
  private readonly throttle: LogThrottle;

  /** `clock` must be monotonic. */
  constructor(log: Pick<Log, 'warn'>, clock: Clock) {
    this.log = log;
    this.throttle = new LogThrottle(clock);
  }

  notPublished(
    app: App,
    rule: PushRule,
    {
      event: { channel, name },
      result,
      why,
    }: {
      readonly event: Pick<RuleEvent, 'channel' | 'name'>;
      readonly result: string;
      readonly why: string | undefined;
    },
  ): void {
    const number = app.pushRules.indexOf(rule);
    this.throttle.run(`${app.id} ${number} ${result}`, (throttled) =>
      this.log.warn('A push rule did not publish an event', {
        app: app.id,
        setting: `pushRules.${number}`,
        channel,
        event: name,
        why,
        ...throttled,
      }),
    );
  }
}
