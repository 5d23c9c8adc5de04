import type { GatewayOf } from '../../../../src/push/delivering/ports.ts';
import type { Deliver, Gateway, Outcome } from '../../../../src/push/gateway.ts';
import type { Platform, Recipient } from '../../../../src/push/model/device.ts';
import type { PublishId } from '../../../../src/push/model/publish.ts';
import type { Random } from '../../../../testing/random.ts';
import type { RecordedHistory } from '../recorded-history.ts';
import type { WorldTime } from '../world-time.ts';

/** How a gateway behaves for a while. */
export const moods = [
  'fine',
  'fine',
  'slow',
  'shaky',
  'down',
  'hanging',
  'mute',
  'unauthorised',
  'refusing',
] as const;

export type Mood = (typeof moods)[number];

/** What the gateway does for fakes, which an attacker registered. The token of a fake names it. */
export const evils = ['refused', 'trouble', 'asking', 'hanging', 'busy'] as const;

/** The prefix of such a token. */
export const EVIL = 'evil-';

/** Part of the token of a fake that is accepted from time to time, so that it seems honest. */
export const TURNS = 'turns-';

/** How often such a fake is accepted. */
const TURNED_BACK = 0.3;

/** One attempt to reach a device. */
export interface Send {
  readonly publish: PublishId;
  readonly device: number;
  readonly token: string;
  readonly seenAtMs: number;
  readonly platform: Platform;
  /** The life of a server that made it. */
  readonly life: number;
  readonly atMs: number;
  /** When the server got the outcome, if it did. */
  endedAtMs: number | undefined;
  outcome: Outcome | undefined;
}

/** The longest time until an outcome. */
const GATEWAY_MS_MAX = 8_000;

/** An answer that takes longer counts as none: a server that stops does not wait for it. */
const ANSWER_MS = 1_000;

const AT_ONCE = 4;

/** What a gateway does, and what its server gets to know of it. */
interface Decision {
  readonly afterMs: number;
  readonly outcome: Outcome;
  /** It has notified the device, and does not say so. */
  readonly isMute?: true;
}

/** How often a planted fault shows. */
const SABOTAGED = 0.2;

export interface SimulatedGatewaysOptions {
  readonly time: WorldTime;
  readonly random: Random;
  readonly history: RecordedHistory;
  readonly sabotage: string | undefined;
  /** What the history calls a publish. */
  readonly nameOf: (publish: PublishId) => string;
}

/** The gateways of all instances as all servers see them, and what was sent to them. */
export class SimulatedGateways {
  readonly sends: Send[] = [];
  readonly problems: string[] = [];
  /** The devices that a gateway has notified, each with its publish: `publish device`. */
  readonly notified = new Set<string>();
  /** Whether everything that goes wrong by chance has ended. */
  isCalm = false;
  /** Whether the attack is over: the tokens of all fakes are dead. */
  areFakesGone = false;
  private readonly options: SimulatedGatewaysOptions;
  private readonly time: WorldTime;
  private readonly random: Random;
  private readonly moods = new Map<string, Mood>();

  constructor(options: SimulatedGatewaysOptions) {
    this.options = options;
    this.time = options.time;
    this.random = options.random;
  }

  setMood(instance: number, platform: Platform, origin: string, mood: Mood): void {
    this.moods.set(`${instance} ${platform} ${origin}`, mood);
  }

  calm(): void {
    this.isCalm = true;
    this.moods.clear();
  }

  /** The gateways for one life of a server. A send after its end is an error of the simulation. */
  of(instance: number, life: number, isAlive: () => boolean): GatewayOf {
    const gatewayOf = <P extends Platform>(platform: P): Gateway<P> => {
      const state = { underWay: 0 };
      return {
        platform,
        atOnce: AT_ONCE,
        prepare: ({ publishId }) => {
          const deliver: Deliver = (recipient) => {
            state.underWay += 1;
            if (state.underWay > AT_ONCE) this.problems.push(`more than ${AT_ONCE} at once`);
            const send: Send = {
              publish: publishId,
              device: recipient.number,
              token: recipient.token,
              seenAtMs: recipient.seenAtMs,
              platform,
              life,
              atMs: this.time.now(),
              endedAtMs: undefined,
              outcome: undefined,
            };
            this.sends.push(send);
            return this.answer(instance, recipient, send, () => {
              state.underWay -= 1;
              return isAlive();
            });
          };
          return deliver;
        },
        [Symbol.asyncDispose]: async () => undefined,
      };
    };
    return {
      apns: gatewayOf('apns'),
      fcm: gatewayOf('fcm'),
      web: gatewayOf('web'),
    };
  }

  private answer(
    instance: number,
    recipient: Recipient,
    send: Send,
    end: () => boolean,
  ): Promise<Outcome> {
    const origin = recipient.platform === 'web' ? (recipient.token.split('/')[2] ?? '') : '';
    const mood = this.moods.get(`${instance} ${recipient.platform} ${origin}`) ?? 'fine';
    const decision = this.decideEvil(recipient) ?? this.decide(mood, recipient);
    this.record(send.publish, recipient.id, decision);
    const { afterMs, outcome } = decision;
    return new Promise((resolve) => {
      this.time.after(afterMs, () => {
        // A server that crashed gets no outcome.
        if (!end()) return;
        send.endedAtMs = this.time.now();
        send.outcome = outcome;
        resolve(outcome);
      });
    });
  }

  /** Records what the device sees. A refusal is recorded, too; a gateway that fails has seen nothing. */
  private record(publish: PublishId, device: string, { afterMs, outcome, isMute }: Decision): void {
    const { history, nameOf, sabotage, random, time } = this.options;
    if (isMute || afterMs > ANSWER_MS) {
      history.say('fault', {
        what: 'gateway',
        on: device,
        until: time.now() + afterMs - history.startMs,
      });
    }
    if (!isMute && ['try-again', 'not-authorised'].includes(outcome.result)) return;
    const result = isMute || outcome.result === 'accepted' ? 'accepted' : 'refused';
    const notified = () => history.say('notified', { p: nameOf(publish), d: device, result });
    if (sabotage === 'lose-push' && random.chance(SABOTAGED)) return;
    if (result === 'accepted') this.notified.add(`${nameOf(publish)} ${device}`);
    notified();
    if (sabotage === 'double-push' && random.chance(SABOTAGED)) notified();
  }

  private decideEvil({ token }: Recipient): Decision | undefined {
    const evil = evils.find((name) => token.includes(EVIL + name));
    if (evil === undefined) return undefined;
    const afterMs = this.random.between(1, 60);
    if (this.areFakesGone) {
      return { afterMs, outcome: { result: 'token-gone', reason: 'gone', sinceMs: undefined } };
    }
    if (token.includes(TURNS) && this.random.chance(TURNED_BACK)) {
      return { afterMs, outcome: ACCEPTED };
    }
    switch (evil) {
      case 'refused':
        return {
          afterMs,
          outcome: { result: 'not-authorised', reason: 'other-key', words: '' },
        };
      case 'trouble':
        return { afterMs, outcome: tryAgain('evil', 'gateway') };
      case 'asking':
        return { afterMs, outcome: tryAgain('evil', 'gateway', 900_000) };
      case 'hanging':
        return { afterMs: GATEWAY_MS_MAX, outcome: tryAgain('no-answer', 'device') };
      case 'busy':
        return { afterMs, outcome: tryAgain('busy', 'device', 60_000) };
      default:
        return evil satisfies never;
    }
  }

  private decide(mood: Mood, recipient: Recipient): Decision {
    const { random } = this;
    const quick = random.between(1, 60);
    switch (mood) {
      case 'fine':
        return { afterMs: quick, outcome: this.isCalm ? ACCEPTED : this.usual(recipient) };
      case 'slow':
        return { afterMs: random.between(300, GATEWAY_MS_MAX), outcome: ACCEPTED };
      case 'shaky':
        return {
          afterMs: quick,
          outcome: random.chance(0.5) ? tryAgain('shaky', 'gateway') : ACCEPTED,
        };
      case 'down':
        return {
          afterMs: quick,
          outcome: tryAgain('down', 'gateway', random.chance(0.1) ? 2_000 : undefined),
        };
      case 'hanging':
        return { afterMs: GATEWAY_MS_MAX, outcome: tryAgain('no-answer', 'device') };
      case 'mute':
        return { afterMs: GATEWAY_MS_MAX, outcome: tryAgain('no-answer', 'device'), isMute: true };
      case 'unauthorised':
        return {
          afterMs: quick,
          outcome: { result: 'not-authorised', reason: 'wrong-key', words: '' },
        };
      case 'refusing':
        return {
          afterMs: quick,
          outcome: { result: 'refused', reason: 'wrong', words: '', scope: 'publish' },
        };
      default:
        return mood satisfies never;
    }
  }

  private usual({ seenAtMs }: Recipient): Outcome {
    const { random } = this;
    if (random.chance(0.8)) return ACCEPTED;
    const sinceMs = random.pick([undefined, seenAtMs - 1, seenAtMs + 1]);
    return random.pick<Outcome>([
      { result: 'refused', reason: 'odd', words: 'Odd' },
      { result: 'token-gone', reason: 'gone', sinceMs },
      tryAgain('busy', 'device', random.pick([undefined, 500, 4_000])),
      tryAgain('trouble', 'gateway'),
    ]);
  }
}

const ACCEPTED: Outcome = { result: 'accepted' };

function tryAgain(reason: string, scope: 'device' | 'gateway', afterMs?: number): Outcome {
  return { result: 'try-again', reason, afterMs, scope };
}
