import type { Publish } from '../../api/answers.ts';
import type { Answer } from '../../api/client.ts';
import { counted } from '../../parts/formats.ts';

export type State = Publish['state'];
type Counts = Publish['devices'];

/** The states of a publish, each with its look and its meaning. */
export const states: Readonly<Record<State, { readonly look: string; readonly means: string }>> = {
  scheduled: { look: '', means: 'It is sent later.' },
  planning: { look: 'warn', means: 'The server reads which devices it is for.' },
  delivering: { look: 'warn', means: 'It is being sent.' },
  finished: { look: 'ok', means: 'Every device has its result.' },
  cancelled: { look: '', means: 'What was not sent before is not sent.' },
};

export const isOver = (state: State) => state === 'finished' || state === 'cancelled';

/** Devices that a gateway did not accept and that are not tried again. */
export const lost = ({ failed, pruned, expired }: Counts) => failed + pruned + expired;

/** Devices without a result so far. */
export const waiting = (counts: Counts) =>
  Math.max(0, counts.planned - counts.accepted - lost(counts) - counts.cancelled);

export function sumOf(all: readonly Counts[]): Counts {
  const sum = (name: keyof Counts) => all.reduce((total, counts) => total + counts[name], 0);
  return {
    planned: sum('planned'),
    accepted: sum('accepted'),
    retrying: sum('retrying'),
    failed: sum('failed'),
    pruned: sum('pruned'),
    expired: sum('expired'),
    cancelled: sum('cancelled'),
  };
}

const NAMES_SHOWN = 3;

/** Whom a publish is for: `hello, sports and 3 more interests`. */
export function targetWords({ kind, count, names }: Publish['target']): string {
  const noun = kind === 'users' ? 'user' : 'interest';
  if (names === null) return count === null ? `many ${noun}s` : counted(count, noun);
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  const more = (count ?? names.length) - NAMES_SHOWN;
  if (more > 0) return `${shown} and ${counted(more, `more ${noun}`)}`;
  return kind === 'users' ? `${names.length === 1 ? 'user' : 'users'} ${shown}` : shown;
}

export type Platform = keyof Answer<'GET /instances/{id}/publishes/{publish}'>['platforms'];

export const platformNames: Readonly<Record<Platform, string>> = {
  apns: 'Apple',
  fcm: 'Android',
  web: 'browsers',
};

export const platforms = Object.keys(platformNames) as readonly Platform[];
