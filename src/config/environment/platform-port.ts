import { type ConfigProblem, quote } from '../file/problems.ts';
import { isObject } from '../settings/plain-json.ts';

/** The variable by which platforms (Heroku, Cloud Run, Render, Railway and others) name the one port that they route to. */
const PORT = 'PORT';

const PORT_MAX = 65_535;

interface WithPort {
  readonly value: unknown;
  /** The variable that set a setting, by the path of the setting. */
  readonly variables: ReadonlyMap<string, string>;
  readonly problems: readonly ConfigProblem[];
}

/**
 * Sets the port of Channels to that of the platform, unless something else sets it; and that of push, so that both share it.
 * `value`: the file, overridden by the variables of settings.
 */
export function withPlatformPort(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): WithPort {
  const given = environment[PORT] ?? '';
  const whole = value === undefined ? {} : value;
  const unchanged = { value, variables: new Map<string, string>(), problems: [] };
  if (given === '' || !isObject(whole)) return unchanged;
  const { channels = {}, push = {} } = whole;
  if (!isObject(channels) || !isObject(push) || channels['port'] !== undefined) return unchanged;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : 0;
  if (port < 1 || port > PORT_MAX) {
    const message = `must be a whole number from 1 to ${PORT_MAX}, got ${quote(given)}; or set channels.port`;
    return { ...unchanged, problems: [{ path: PORT, message }] };
  }
  const variables = new Map([['channels.port', PORT]]);
  const withChannels = { ...whole, channels: { ...channels, port } };
  if (push['port'] !== undefined) return { value: withChannels, variables, problems: [] };
  variables.set('push.port', PORT);
  return { value: { ...withChannels, push: { ...push, port } }, variables, problems: [] };
}
