import type { WebhookLog } from '../../admin/offline-webhooks.ts';
import { printable } from '../../runtime/printable.ts';
import { type Arguments, CONFIG_OPTION, JSON_OPTION, type Option, serverUrl } from '../options.ts';
import { type ExitCode, type Output, UsageError } from '../output.ts';
import { readConfig } from '../read-config.ts';
import { openWebhookLog } from './webhook-log.ts';

type Action = (log: WebhookLog, given: Arguments, output: Output) => Promise<ExitCode>;
type Details = NonNullable<Awaited<ReturnType<WebhookLog['show']>>>;

const STATES = ['waiting', 'delivered', 'failed'] as const;
/** What the admin API lists at most. */
const LIMIT_MAX = 1000;
const LIMIT = 50;

export const WEBHOOKS_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'The admin listener of a running server; otherwise the one of the configuration, or the store.',
  },
  CONFIG_OPTION,
  JSON_OPTION,
];

export const WEBHOOKS_LIST_OPTIONS: readonly Option[] = [
  { name: 'app', value: 'ID', help: 'Only those of this app.' },
  { name: 'instance', value: 'ID', help: 'Only those of this push instance.' },
  { name: 'state', value: 'STATE', help: `Only those in this state: ${STATES.join(', ')}.` },
  {
    name: 'limit',
    value: 'N',
    help: `The most to list, up to ${LIMIT_MAX}; ${LIMIT} if left out.`,
  },
  ...WEBHOOKS_OPTIONS,
];

/** `fanfare webhooks …`: shows what was sent to the webhooks of apps and instances, and sends it again. */
export function webhooksCommand(action: Action) {
  return async (given: Arguments, output: Output): Promise<ExitCode> => {
    const url = serverUrl(given, 'http://127.0.0.1:6003');
    const config = readConfig(given.value('config'), output);
    if (config === undefined) return 2;
    await using log = await openWebhookLog(config, url);
    return await action(log, given, output);
  };
}

export const listWebhooks: Action = async (log, given, output) => {
  if (given.words[0] !== undefined) throw new UsageError(`unexpected "${given.words[0]}"`);
  const webhooks = await log.list({
    app: given.value('app'),
    instance: given.value('instance'),
    state: stateOf(given),
    limit: limitOf(given),
  });
  if (given.has('json')) {
    output.print(JSON.stringify(webhooks));
    return 0;
  }
  if (webhooks.length === 0) output.print('There is no such webhook.');
  for (const webhook of webhooks) {
    const { id, createdAt, state, attempts, url, reason } = webhook;
    const why = reason === '' ? '' : `  ${reason}`;
    const owner = ownerOf(webhook);
    output.print(
      printable(`${id}  ${createdAt}  ${state.padEnd(9)}  ${owner}  ${attempts}×  ${url}${why}`),
    );
  }
  return 0;
};

export const showWebhook: Action = async (log, given, output) => {
  const webhook = await log.show(idOf(given));
  if (webhook === undefined) return noSuchWebhook(given, output);
  output.print(given.has('json') ? JSON.stringify(webhook) : describe(webhook));
  return 0;
};

export const replayWebhook: Action = async (log, given, output) => {
  const id = idOf(given);
  const result = await log.replay(id);
  switch (result) {
    case 'unknown':
      return noSuchWebhook(given, output);
    case 'waiting':
      output.complain(`fanfare: webhook ${id} still waits to be delivered`);
      return 1;
    case 'replayed':
      output.print(
        given.has('json')
          ? JSON.stringify({ id, state: 'waiting' })
          : `Webhook ${id} is sent again.`,
      );
      return 0;
    default:
      return result satisfies never;
  }
};

function describe(webhook: Details): string {
  const { id, state, reason, url, createdAt, nextAttemptAt, body, attemptLog } = webhook;
  return [
    `Webhook ${id} of ${ownerOf(webhook)}: ${state}${reason === '' ? '' : `, ${reason}`}`,
    `  to       ${url}`,
    `  made     ${createdAt}`,
    ...(nextAttemptAt === null ? [] : [`  next     ${nextAttemptAt}`]),
    ...attemptLog.map(
      ({ number, at, durationMs, outcome, status, answer }) =>
        `  try ${String(number).padEnd(3)}  ${at}  ${durationMs} ms  ${outcome}${status === null ? '' : ` ${status}`}  ${JSON.stringify(answer)}`,
    ),
    `  body     ${body}`,
  ]
    .map(printable)
    .join('\n');
}

function ownerOf({ app, instance }: Pick<Details, 'app' | 'instance'>): string {
  return app === null ? `instance ${instance}` : `app ${app}`;
}

function stateOf(given: Arguments): (typeof STATES)[number] | undefined {
  const text = given.value('state');
  if (text === undefined) return undefined;
  const state = STATES.find((one) => one === text);
  if (state === undefined) {
    throw new UsageError(`--state must be one of ${STATES.join(', ')}, not "${text}"`);
  }
  return state;
}

function limitOf(given: Arguments): number {
  const text = given.value('limit');
  if (text === undefined) return LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMIT_MAX) {
    throw new UsageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}, not "${text}"`);
  }
  return limit;
}

function idOf({ words: [id, more] }: Arguments): string {
  if (id === undefined) {
    throw new UsageError('which webhook? Its id is missing; see: fanfare webhooks list');
  }
  if (more !== undefined) throw new UsageError(`unexpected "${more}"`);
  return id;
}

function noSuchWebhook(given: Arguments, output: Output): ExitCode {
  output.complain(`fanfare: there is no webhook ${idOf(given)}; see: fanfare webhooks list`);
  return 1;
}
