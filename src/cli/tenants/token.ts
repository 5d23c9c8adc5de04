import { makeToken } from '../../admin/channels/make-token.ts';
import { AppStore } from '../../stores/tenants/app-store.ts';
import { appKind, completeTenants } from '../../tenants/tenant-kind.ts';
import { fail, type Invocation, printResult } from '../invocation.ts';
import { openStore } from '../open-store.ts';
import {
  type Arguments,
  CONFIG_OPTION,
  JSON_OPTION,
  type Option,
  onlyOperand,
} from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';
import { readWholeConfig } from '../read-config.ts';

const SECONDS_DEFAULT = 3600;

export const TOKEN_OPTIONS: readonly Option[] = [
  {
    name: 'user',
    value: 'ID',
    help: 'The user. Without one, the token opens private channels only.',
  },
  { name: 'user-info', value: 'JSON', help: 'What others see of the user in presence channels.' },
  {
    name: 'channels',
    value: 'PATTERN',
    several: true,
    help: 'Channels that it opens: a name, or the beginning of names and *. May be given several times.',
  },
  {
    name: 'client-events',
    value: 'PATTERN',
    several: true,
    help: 'As --channels, and client events may be sent there.',
  },
  {
    name: 'seconds',
    value: 'N',
    help: `How long it is valid, up to 31 days. Default: ${SECONDS_DEFAULT}.`,
  },
  CONFIG_OPTION,
  JSON_OPTION,
];

/** `fanfare token`: prints a token of an app, to try its grants with. */
export async function token(call: Invocation): Promise<ExitCode> {
  const { given } = call;
  const id = onlyOperand(given, 'which app? Its id is missing; see: fanfare apps list');
  const contents = {
    userId: given.value('user'),
    userInfo: userInfoOf(given),
    channels: {
      ...rightsOf(given, 'channels', ['subscribe']),
      ...rightsOf(given, 'client-events', ['subscribe', 'client-events']),
    },
    seconds: secondsOf(given),
  };
  const loaded = readWholeConfig(call);
  if (loaded === undefined) return 2;
  const { config } = loaded;
  await using database = await openStore(config);
  const configured = appKind.configured(config);
  const stored = await new AppStore(database).list();
  const { served } = completeTenants(appKind, { stored, configured });
  const app = [...configured, ...served].find((one) => one.id === id);
  if (app === undefined) return fail(call, `There is no app ${id}\nSee: fanfare apps list`);
  const made = makeToken(app, contents, Date.now() / 1000);
  if (!made.ok) return fail(call, made.why);
  const { claims } = made;
  return printResult(call, { json: { token: made.token, claims }, text: made.token });
}

function rightsOf(given: Arguments, option: string, rights: readonly string[]) {
  return Object.fromEntries(given.values(option).map((pattern) => [pattern, rights]));
}

function secondsOf(given: Arguments): number {
  const text = given.value('seconds') ?? String(SECONDS_DEFAULT);
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new UsageError(`--seconds must be a whole number of at least 1, not "${text}"`);
}

function userInfoOf(given: Arguments): object | undefined {
  const text = given.value('user-info');
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The error below says it.
  }
  throw new UsageError('--user-info must be a JSON object');
}
