import type { ConfigProblem } from '../file/problems.ts';
import { isObject } from '../settings/plain-json.ts';
import { FILE_SUFFIX, readSecretFile } from './secret-files.ts';
import type { Overrides } from './variables.ts';

/**
 * The variables of one app, for a container without a configuration file. Its other settings have their defaults. The app is
 * the last one in `channels.apps`.
 */
const ID = 'FANFARE_APP_ID';
const KEY = 'FANFARE_APP_KEY';
const SECRET = 'FANFARE_APP_SECRET';
const SECRET_FILE = `${SECRET}${FILE_SUFFIX}`;

export const APP_VARIABLES: readonly string[] = [ID, KEY, SECRET, SECRET_FILE];

/** Adds the app of the environment to the content of a file. */
export function withAppOfEnvironment(
  content: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): Overrides {
  const given = APP_VARIABLES.filter((name) => environment[name] !== undefined);
  if (given.length === 0) return { value: content, variables: new Map(), problems: [] };

  const problems: ConfigProblem[] = [];
  for (const name of [ID, KEY]) {
    if (!given.includes(name)) {
      problems.push({ path: name, message: `required if ${given[0]} is set` });
    }
  }
  const secret = secretIn(environment);
  if ('problem' in secret) problems.push(secret.problem);
  if ('problem' in secret || problems.length > 0) {
    return { value: content, variables: new Map(), problems };
  }

  const app = { id: environment[ID], keys: [{ key: environment[KEY], secret: secret.value }] };
  const { value, index } = appended(content, app);
  const path = `channels.apps[${index}]`;
  const variables = new Map([
    [`${path}.id`, ID],
    [`${path}.keys[0].key`, KEY],
    [`${path}.keys[0].secret`, secret.variable],
  ]);
  return { value, variables, problems };
}

type Secret =
  | { readonly value: string; readonly variable: string }
  | { readonly problem: ConfigProblem };

function secretIn(environment: Readonly<Record<string, string | undefined>>): Secret {
  const { [SECRET]: plain, [SECRET_FILE]: file } = environment;
  if (file === undefined) {
    return plain === undefined
      ? { problem: { path: SECRET, message: `required, or ${SECRET_FILE}, to describe an app` } }
      : { value: plain, variable: SECRET };
  }
  if (plain !== undefined) {
    return { problem: { path: SECRET_FILE, message: `cannot be set together with ${SECRET}` } };
  }
  const read = readSecretFile(file);
  return 'message' in read
    ? { problem: { path: SECRET_FILE, message: read.message } }
    : { value: read.value, variable: SECRET_FILE };
}

/** If the file has another kind of value where apps belong, nothing changes, and the schema reports that. */
function appended(content: unknown, app: object): { value: unknown; index: number } {
  const whole = content === undefined ? {} : content;
  if (!isObject(whole)) return { value: content, index: 0 };
  const { channels = {} } = whole;
  if (!isObject(channels)) return { value: content, index: 0 };
  const { apps = [] } = channels;
  if (!Array.isArray(apps)) return { value: content, index: 0 };
  return {
    value: { ...whole, channels: { ...channels, apps: [...apps, app] } },
    index: apps.length,
  };
}
