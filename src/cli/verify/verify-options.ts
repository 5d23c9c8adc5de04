import type { Plan, Prefixes } from '../../verify/crowd/plan.ts';
import { type Arguments, JSON_OPTION, type Option } from '../options.ts';
import { UsageError } from '../output.ts';
import { secretOptions } from '../secret-option.ts';

/** What numbers options take: the least, the most, and what counts without the option. */
const BOUNDS = {
  seconds: [10, 3600, 60],
  clients: [2, 200, 20],
  rate: [1, 100, 10],
  cuts: [0, 600, 30],
  webhooks: [1, 65_535, 0],
} as const;

/** Webhooks need 10 s in which nothing changes. */
const SECONDS_WITH_WEBHOOKS = 20;

const range = (name: keyof typeof BOUNDS) => {
  const [least, most, fallback] = BOUNDS[name];
  return `${least} to ${most}. Default: ${fallback}.`;
};

export const VERIFY_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    several: true,
    help: 'The URL by which clients reach the server, like https://realtime.example.com. Given several times, clients and triggers spread over all: they must be of one installation.',
  },
  { name: 'key', value: 'KEY', help: 'The key of the app.' },
  ...secretOptions({
    name: 'secret',
    value: 'SECRET',
    help: 'The secret of the key. It is never sent, printed or recorded.',
  }),
  { name: 'app-id', value: 'ID', help: 'The id of the app.' },
  {
    name: 'api-url',
    value: 'URL',
    help: 'The URL by which backends reach the server. Default: --url.',
  },
  { name: 'seconds', value: 'N', help: `How long to run, ${range('seconds')}` },
  {
    name: 'clients',
    value: 'N',
    help: `How many clients, ${range('clients')} All hear public channels; a third each resumes, is in a presence channel, and sends client events.`,
  },
  { name: 'rate', value: 'N', help: `Triggered events per second, ${range('rate')}` },
  {
    name: 'cuts',
    value: 'N',
    help: `Connections of these clients that are cut per minute, every second one without a close frame, ${range('cuts')}`,
  },
  {
    name: 'private',
    value: 'PREFIX',
    help: 'How the private channel begins, if the app has rules for names. Default: private-verify-.',
  },
  {
    name: 'presence',
    value: 'PREFIX',
    help: 'How the presence channel begins. Default: presence-verify-.',
  },
  {
    name: 'kept',
    value: 'PREFIX',
    help: 'How a channel begins that keeps a history (channels.apps[].history). Without it, resuming is not tried.',
  },
  {
    name: 'webhooks',
    value: 'PORT',
    help: `Also listen on this port for the webhooks of the app, and check them. Needs --seconds ${SECONDS_WITH_WEBHOOKS} or more.`,
  },
  { name: 'history', value: 'FILE', help: 'Keep the recording in a new file. It has no secret.' },
  {
    name: 'check',
    value: 'FILE',
    help: 'Check a recording instead, without a network; - reads standard input.',
  },
  { name: 'report', value: 'FILE', help: 'Also write the verdict to a file, as Markdown.' },
  { name: 'timeout', value: 'SECONDS', help: 'How long each step may take. Default: 5.' },
  { name: 'ca', value: 'FILE', help: 'A certificate authority to trust as well, as PEM.' },
  { name: 'insecure', help: 'Continue even if the certificate is not trusted.' },
  JSON_OPTION,
];

/** The options that have a meaning with `--check`. */
const OF_CHECK = ['check', 'report', 'json'];

/** Throws `UsageError` if an option of a run is given beside `--check`. */
export function onlyCheck(given: Arguments): void {
  for (const { name, value, several } of VERIFY_OPTIONS) {
    const isSwitchGiven = value === undefined && given.has(name);
    const first = several === true ? given.values(name)[0] : value && given.value(name);
    if ((isSwitchGiven || first !== undefined) && !OF_CHECK.includes(name)) {
      throw new UsageError(`--${name} has no meaning with --check, which needs no server`);
    }
  }
}

type Numbers = Pick<Plan, 'seconds' | 'clients' | 'rate' | 'cuts'>;

/** What a run does, as far as the options say. Throws `UsageError`. */
export function readNumbers(given: Arguments): Numbers & { readonly port: number | undefined } {
  const of = (name: keyof typeof BOUNDS) => numberOf(given, name);
  const port = given.value('webhooks') === undefined ? undefined : of('webhooks');
  const seconds = of('seconds');
  if (port !== undefined && seconds < SECONDS_WITH_WEBHOOKS) {
    throw new UsageError(`--webhooks needs --seconds ${SECONDS_WITH_WEBHOOKS} or more`);
  }
  return { seconds, clients: of('clients'), rate: of('rate'), cuts: of('cuts'), port };
}

/** The names of channels. Throws `UsageError`. */
export function readPrefixes(given: Arguments, defaults: Prefixes): Prefixes {
  const prefix = (name: string, begins: string, fallback: string | undefined) => {
    const text = given.value(name) ?? fallback;
    if (text === undefined || (text.startsWith(begins) && /^[\w\-=@,.;]{1,100}$/.test(text))) {
      return text;
    }
    const which = begins === '' ? '' : ` that begins with ${begins}`;
    throw new UsageError(`--${name} must be the begin of a channel name${which}`);
  };
  return {
    guarded: prefix('private', 'private-', defaults.guarded) ?? defaults.guarded,
    presence: prefix('presence', 'presence-', defaults.presence) ?? defaults.presence,
    kept: prefix('kept', '', defaults.kept),
  };
}

function numberOf(given: Arguments, name: keyof typeof BOUNDS): number {
  const [least, most, fallback] = BOUNDS[name];
  const text = given.value(name);
  if (text === undefined) return fallback;
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most}, not "${text}"`);
}
