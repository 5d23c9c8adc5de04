import type { App, PushRule } from '../../channels/app.ts';
import type { RuleEvent } from '../../channels/push-rules/push-rule.ts';
import { LogThrottle } from '../../runtime/log-throttle.ts';
import type { Clock, Log } from '../../runtime/ports.ts';

/** Why an event over the rate of its rule is left out. */
export const OVER_RATE = 'the rule has reached `perSecond`';

/** Logs events of which a rule made no publish: for each rule and reason once a minute. */
export class RuleLog {
  private readonly log: Pick<Log, 'warn'>;
  private readonly throttle: LogThrottle;

  /** `clock` is never set. */
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
