/** What a run does. */
export interface Plan {
  /** Begins the names of its channels and users, for example `verify-k3x9q2ab`. */
  readonly run: string;
  readonly seconds: number;
  readonly clients: number;
  /** Triggered events per second. */
  readonly rate: number;
  /** Cuts of own connections per minute. */
  readonly cuts: number;
  readonly channels: Channels;
  readonly listensForWebhooks: boolean;
}

/** The channels of a run, by what happens in them. */
export interface Channels {
  /** Everybody hears this one. */
  readonly open: string;
  /** A second one, for events that go to both. */
  readonly other: string;
  /** A third of the clients have client events here. */
  readonly guarded: string;
  readonly presence: string;
  /** One that keeps a history, in which a third of the clients resume. */
  readonly kept: string | undefined;
}

/** How the channels begin that an app may have rules for. */
export type Prefixes = Pick<Channels, 'guarded' | 'presence' | 'kept'>;

export const DEFAULT_PREFIXES: Prefixes = {
  guarded: 'private-verify-',
  presence: 'presence-verify-',
  kept: undefined,
};

/** Names the channels of a run after its 8 letters. */
export function channelsOf(letters: string, { guarded, presence, kept }: Prefixes): Channels {
  return {
    open: `verify-${letters}-a`,
    other: `verify-${letters}-b`,
    guarded: `${guarded}${letters}-c`,
    presence: `${presence}${letters}-d`,
    kept: kept === undefined ? undefined : `${kept}${letters}-e`,
  };
}

/** What one client does, by its number from 1 on. */
export interface Part {
  readonly channels: readonly string[];
  /** The channels in which it resumes. */
  readonly resumes: readonly string[];
  /** Who it is in presence channels. */
  readonly user: string;
  /** The channel in which it sends client events. */
  readonly whispers: string | undefined;
}

/** The first two clients in the presence channel. */
const FIRST = 2;
const SECOND = 5;

export function partOf({ run, channels, clients }: Plan, number: number): Part {
  const { open, other, guarded, presence, kept } = channels;
  const third = number % 3;
  const resumes = third === 1 && kept !== undefined ? [kept] : [];
  const own = [resumes, [presence, ...(kept === undefined ? [] : [kept])], [guarded]];
  return {
    channels: [open, other, ...(own[(third + 2) % 3] ?? [])],
    resumes,
    // Two clients have the same user, who stays when one of them goes.
    user: `${run}-${number === SECOND && clients > SECOND + 2 ? FIRST : number}`,
    whispers: third === 0 ? guarded : undefined,
  };
}

/** How long nothing is cut at the end of each period, so that lists and counts can be compared. Seconds. */
const QUIET_SECONDS = 8;
const QUIET_WITH_WEBHOOKS_SECONDS = 13;
const PERIOD_SECONDS = 20;
/** How long connections are cut in each period, at least: then a short run is quiet after its end. Seconds. */
const CUTS_SECONDS = 6;
/** No event is triggered in the last seconds, so that each has its time to arrive. */
const LAST_SECONDS = 2;

/** The time when connections are cut, and when not. Seconds since the start. */
export function isQuiet({ seconds, listensForWebhooks }: Plan, at: number): boolean {
  const quiet = listensForWebhooks ? QUIET_WITH_WEBHOOKS_SECONDS : QUIET_SECONDS;
  const periods = Math.max(1, Math.floor(seconds / PERIOD_SECONDS));
  const length = seconds / periods;
  return at % length >= Math.max(CUTS_SECONDS, length - quiet);
}

export function triggersUntil({ seconds }: Plan): number {
  return seconds - LAST_SECONDS;
}

/** The pause between two cuts while connections are cut. Milliseconds. */
export function cutPauseMs(plan: Plan): number {
  const { seconds, cuts } = plan;
  const tenths = Array.from({ length: seconds * 10 }, (_, at) => isQuiet(plan, at / 10));
  const active = tenths.filter((quiet) => !quiet).length / 10;
  return cuts === 0 || active === 0
    ? Number.POSITIVE_INFINITY
    : (active * 1000) / Math.max(1, (cuts * seconds) / 60);
}

/** How many events are triggered, and about how many deliveries follow. */
export function costOf(plan: Plan): { readonly triggers: number; readonly deliveries: number } {
  const triggers = Math.round(plan.rate * triggersUntil(plan));
  const { open, other, guarded, presence, kept } = plan.channels;
  const numbers = Array.from({ length: plan.clients }, (_, at) => at + 1);
  const hearers = (channel: string | undefined) =>
    numbers.filter((number) => partOf(plan, number).channels.includes(channel ?? '')).length;
  const targets = [open, other, guarded, presence, kept ?? open];
  const mean = targets.reduce((sum, channel) => sum + hearers(channel), 0) / targets.length;
  return { triggers, deliveries: Math.round(triggers * mean * 1.2) };
}
