import type { App, PushRule } from '../../channels/app.ts';
import {
  pushRulesFor,
  type RuleEvent,
  type RuleEventSink,
} from '../../channels/push-rules/push-rule.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { perSecond, TokenBucket } from '../../runtime/rates/token-bucket.ts';
import { OVER_RATE, RuleLog } from './rule-log.ts';

/** The limit of events in flight from this loop to the background loop. An app may take half of the free room. */
const IN_FLIGHT_MAX = 2_000;

/** The cost of an event in addition to its data. Characters. */
const EVENT_CHARACTERS = 200;

/** Why an event does not reach the background loop. */
const leftOut = {
  'over-rate': OVER_RATE,
  'too-many': 'the server is still busy with other events of the app, or of all apps',
} as const;

type LeftOut = keyof typeof leftOut;

export interface RuleEventRelayOptions {
  readonly send: (event: RuleEvent) => void;
  /** The limit of events in flight, under the same rule. */
  readonly charactersMax: number;
  /** Must be monotonic. */
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly meter: { readonly count: (id: 'ruleEvents', by: number, result: LeftOut) => void };
}

interface InFlight {
  events: number;
  characters: number;
}

/** Passes events that match a push rule to the background loop. Events beyond a limit are dropped, counted and logged. */
export class RuleEventRelay implements RuleEventSink {
  private readonly options: RuleEventRelayOptions;
  private readonly rates = new WeakMap<PushRule, TokenBucket>();
  private readonly log: RuleLog;
  private readonly all: InFlight = { events: 0, characters: 0 };
  private readonly byApp = new Map<string, InFlight>();

  constructor(options: RuleEventRelayOptions) {
    this.options = options;
    this.log = new RuleLog(options.log, options.clock);
  }

  note(app: App, event: RuleEvent): void {
    const rules = pushRulesFor(app, event);
    const [first] = rules;
    if (first === undefined) return;
    const { send, clock, charactersMax } = this.options;
    const nowMs = clock.now();
    if (!rules.some((rule) => this.mayPass(rule, nowMs))) {
      this.leaveOut(app, first, event, 'over-rate');
      return;
    }
    const characters = EVENT_CHARACTERS + event.data.length;
    const ofApp = this.byApp.get(app.id) ?? { events: 0, characters: 0 };
    const isFull =
      ofApp.events + 1 > (IN_FLIGHT_MAX - this.all.events) / 2 ||
      ofApp.characters + characters > (charactersMax - this.all.characters) / 2;
    if (isFull) {
      this.leaveOut(app, first, event, 'too-many');
      return;
    }
    this.byApp.set(app.id, ofApp);
    change(ofApp, 1, characters);
    change(this.all, 1, characters);
    send(event);
  }

  /** The background loop has handled an event. */
  done({ appId, dataLength }: { readonly appId: string; readonly dataLength: number }): void {
    const characters = EVENT_CHARACTERS + dataLength;
    const ofApp = this.byApp.get(appId);
    if (ofApp === undefined) return;
    change(ofApp, -1, -characters);
    change(this.all, -1, -characters);
    if (ofApp.events === 0) this.byApp.delete(appId);
  }

  private leaveOut(app: App, rule: PushRule, event: RuleEvent, result: LeftOut): void {
    this.options.meter.count('ruleEvents', 1, result);
    this.log.notPublished(app, rule, { event, result, why: leftOut[result] });
  }

  /** Each loop may pass as many as the whole server may; the background loop enforces the exact rate. */
  private mayPass(rule: PushRule, nowMs: number): boolean {
    const rate = perSecond(rule.perSecond);
    const bucket = this.rates.get(rule) ?? new TokenBucket(rate, nowMs);
    this.rates.set(rule, bucket);
    return bucket.take(rate, nowMs);
  }
}

function change(one: InFlight, events: number, characters: number): void {
  one.events += events;
  one.characters += characters;
}
