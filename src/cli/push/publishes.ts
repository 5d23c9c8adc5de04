import type { UsableConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { hasTls } from '../../config/settings/has-tls.ts';
import { fail, type Invocation, printResult } from '../invocation.ts';
import { type Arguments, CONFIG_OPTION, JSON_OPTION, type Option, serverUrl } from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';
import { isAnyPort } from '../own-address.ts';
import { readWholeConfig } from '../read-config.ts';
import { secretOf, secretOptions } from '../secret-option.ts';
import { configuredAddress, givenAddress } from '../server-address.ts';
import { type InstanceKey, instanceKeys } from '../tenants/instance-keys.ts';
import { PushApi } from './push-api.ts';
import {
  describeStatus,
  describeTimeline,
  deviceTimeline,
  publishPauses,
  publishStatus,
} from './shown-publish.ts';

export const PUSH_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'The push listener of a running server. Default: the server of the configuration, on this machine.',
  },
  {
    name: 'instance',
    value: 'ID',
    help: 'The instance of the publish. Default: tries all of the configuration and the store.',
  },
  ...secretOptions({
    name: 'secret-key',
    value: 'KEY',
    help: 'A secret key of that instance. Default: reads it from the configuration or the store.',
  }),
  CONFIG_OPTION,
  JSON_OPTION,
];

/** `fanfare push status`: shows the status of a publish. */
export async function showPublish(invocation: Invocation): Promise<ExitCode> {
  const [publishId] = operandsOf(invocation.given, { device: false });
  return await show(invocation, {
    publishId,
    path: '',
    async describe(body, { api, instance }) {
      const status = publishStatus.safeParse(body);
      if (!status.success) return undefined;
      const pauses = await pausesOf(api, { instance, publishId });
      return describeStatus(status.data, { pauses, instanceId: instance.id });
    },
  });
}

/** `fanfare push explain`: shows why one device did or did not get a publish. */
export async function explainDevice(invocation: Invocation): Promise<ExitCode> {
  const [publishId, deviceId] = operandsOf(invocation.given, { device: true });
  return await show(invocation, {
    publishId,
    path: `/devices/${encodeURIComponent(deviceId)}`,
    async describe(body, { instance }) {
      const timeline = deviceTimeline.safeParse(body);
      return timeline.success
        ? describeTimeline(timeline.data, { publishId, instanceId: instance.id })
        : undefined;
    },
  });
}

/** The open circuits that the publish waits for; none if the server does not report them. */
async function pausesOf(api: PushApi, { instance, publishId }: Found) {
  const path = `/publishes/${encodeURIComponent(publishId)}/pauses`;
  const response = await api.get(instance, path);
  const pauses = response.result === 'ok' ? publishPauses.safeParse(response.body) : undefined;
  return pauses?.success === true ? pauses.data.pauses : [];
}

interface Found {
  readonly instance: InstanceKey;
  readonly publishId: string;
}

interface Subject {
  readonly publishId: string;
  /** After the path of the publish. */
  readonly path: string;
  /** Returns `undefined` for a body that it does not understand. */
  readonly describe: (
    body: unknown,
    found: { readonly api: PushApi; readonly instance: InstanceKey },
  ) => Promise<string | undefined>;
}

/** Reads something of a publish and prints it. Asks as one instance after the other, until one has the publish. */
async function show(invocation: Invocation, subject: Subject): Promise<ExitCode> {
  const { given } = invocation;
  const loaded = readWholeConfig(invocation);
  if (loaded === undefined) return 2;
  const { config } = loaded;
  const api = apiOf(loaded, given);
  const { publishId, path, describe } = subject;
  const asked: string[] = [];
  const unauthorised: string[] = [];
  for await (const instance of keysOf(config, given)) {
    const response = await api.get(instance, `/publishes/${encodeURIComponent(publishId)}${path}`);
    asked.push(instance.id);
    if (response.result === 'ok') {
      const { body } = response;
      const text = await describe(body, { api, instance });
      if (text !== undefined) return printResult(invocation, { json: body, text });
      throw new Error(`${api.shown} answers like another version of Fanfare`);
    }
    if (response.result === 'unauthorised') unauthorised.push(instance.id);
    // The server has found the publish: it looks for the device only then.
    else if (response.error === 'Device not found') return fail(invocation, response.description);
  }
  return fail(invocation, whyNotFound({ api, publishId, asked, unauthorised }));
}

interface Search {
  readonly api: PushApi;
  readonly publishId: string;
  readonly asked: readonly string[];
  readonly unauthorised: readonly string[];
}

function whyNotFound({ api, publishId, asked, unauthorised }: Search): string {
  if (asked.length === 0) {
    return 'neither the configuration nor the store has such an instance; give --instance and --secret-key-file';
  }
  if (unauthorised.length > 0) {
    return `${api.shown} refuses the secret key of ${unauthorised.join(', ')}, so its publishes cannot be read`;
  }
  return `${api.shown} knows no publish ${publishId} of ${asked.join(', ')}. Publishes are kept for 30 days.`;
}

function apiOf({ config, source }: UsableConfig, given: Arguments): PushApi {
  const { push } = config;
  const other = serverUrl(given, 'http://127.0.0.1:6002');
  if (other !== undefined) return new PushApi({ address: givenAddress(other), isLocal: false });
  if (isAnyPort(push)) {
    throw new UsageError('push.port is 0, so the port of the server is not known; give --url');
  }
  const address = configuredAddress({ ...push, tls: hasTls(config) }, 'push', source);
  return new PushApi({ address, isLocal: true });
}

async function* keysOf(config: Config, given: Arguments): AsyncGenerator<InstanceKey> {
  const id = given.value('instance')?.toLowerCase();
  const secretKey = secretOf(given, 'secret-key');
  if (secretKey !== undefined) {
    if (id === undefined)
      throw new UsageError('--secret-key and --secret-key-file need --instance');
    yield { id, secretKey };
    return;
  }
  for await (const key of instanceKeys(config)) {
    if (id === undefined || key.id === id) yield key;
  }
}

/** The id of the publish, and that of the device if the command takes one. Throws `UsageError`. */
function operandsOf(
  { operands: [publishId = '', ...others] }: Arguments,
  { device }: { readonly device: boolean },
): readonly [publishId: string, deviceId: string] {
  if (publishId === '') throw new UsageError('which publish? Its id is missing');
  if (!publishId.startsWith('pubid-')) {
    throw new UsageError(`"${publishId}" is not the id of a publish, which begins with pubid-`);
  }
  const [deviceId = '', ...more] = device ? others : ['', ...others];
  if (device && deviceId === '') throw new UsageError('which device? Its id is missing');
  if (more[0] !== undefined) throw new UsageError(`unexpected "${more[0]}"`);
  return [publishId, deviceId];
}
