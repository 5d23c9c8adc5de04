import type { ShownWebhook, ShownWebhookDetails } from '../../admin/webhook-shapes.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { fail, type Invocation, printList, printResult } from '../invocation.ts';
import {
  CONFIG_OPTION,
  choiceOf,
  JSON_OPTION,
  LIMIT_OPTION,
  limitOf,
  noOperand,
  type Option,
  onlyOperand,
  serverUrl,
} from '../options.ts';
import type { ExitCode } from '../output.ts';
import { readWholeConfig } from '../read-config.ts';
import { openWebhookLog, type WebhookLog } from './webhook-log.ts';

interface Call extends Invocation {
  readonly log: WebhookLog;
}

const STATES = ['waiting', 'delivered', 'failed'] as const;

export const WEBHOOKS_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'The admin listener of a running server. Default: the server of the configuration, or its store.',
  },
  CONFIG_OPTION,
  JSON_OPTION,
];

export const WEBHOOKS_LIST_OPTIONS: readonly Option[] = [
  { name: 'app', value: 'ID', help: 'Only requests of this app.' },
  { name: 'instance', value: 'ID', help: 'Only requests of this push instance.' },
  { name: 'state', value: 'STATE', help: `Only requests in this state: ${STATES.join(', ')}.` },
  LIMIT_OPTION,
  ...WEBHOOKS_OPTIONS,
];

/** `fanfare webhooks …`: shows webhook requests and sends them again. */
export function webhooksCommand(action: (call: Call) => Promise<ExitCode>) {
  return async (invocation: Invocation): Promise<ExitCode> => {
    const url = serverUrl(invocation.given, 'http://127.0.0.1:6003');
    const loaded = readWholeConfig(invocation);
    if (loaded === undefined) return 2;
    await using log = await openWebhookLog(loaded, url);
    return await action({ ...invocation, log });
  };
}

export async function listWebhooks(call: Call): Promise<ExitCode> {
  const { given, log } = call;
  noOperand(given);
  const webhooks = await log.list({
    app: given.value('app'),
    instance: given.value('instance'),
    state: choiceOf(given, { option: 'state', values: STATES }),
    limit: limitOf(given),
  });
  return printList(call, webhooks, {
    json: (webhook) => webhook,
    line: describeLine,
    none: 'There is no such webhook request.',
  });
}

export async function showWebhook(call: Call): Promise<ExitCode> {
  const webhook = await call.log.show(idOf(call));
  if (webhook === undefined) return noSuchWebhook(call);
  return printResult(call, { json: webhook, text: describe(webhook) });
}

export async function replayWebhook(call: Call): Promise<ExitCode> {
  const id = idOf(call);
  const result = await call.log.replay(id);
  switch (result) {
    case 'unknown':
      return noSuchWebhook(call);
    case 'waiting':
      return fail(call, `webhook ${id} is still waiting to be delivered`);
    case 'replayed':
      return printResult(call, {
        json: { id, state: 'waiting' },
        text: `Webhook ${id} will be sent again.`,
      });
    default:
      return result satisfies never;
  }
}

function describeLine(webhook: ShownWebhook): string {
  const { id, createdAt, state, attempts, events, url, reason } = webhook;
  const why = reason === '' ? '' : `  ${reason}`;
  const owner = ownerOf(webhook);
  return printable(
    [id, createdAt, state.padEnd(9), owner, `${attempts}×`, events || '-', `${url}${why}`].join(
      '  ',
    ),
  );
}

function describe(webhook: ShownWebhookDetails): string {
  const { id, state, reason, url, events, createdAt, nextAttemptAt, body, attemptLog } = webhook;
  return [
    `Webhook ${id} of ${ownerOf(webhook)}: ${state}${reason === '' ? '' : `, ${reason}`}`,
    `  to       ${url}`,
    // A server of an older release names none.
    ...(events ? [`  events   ${events}`] : []),
    `  created  ${createdAt}`,
    ...(nextAttemptAt === null ? [] : [`  next     ${nextAttemptAt}`]),
    ...attemptLog.map(
      ({ number, at, durationMs, outcome, status, answer }) =>
        `  try ${String(number).padEnd(3)}  ${at}  ${durationMs} ms  ${outcome}${status === null ? '' : ` ${status}`}  ${JSON.stringify(answer)}`,
    ),
    `  body     ${body ?? '(hidden by dashboard.payloads)'}`,
  ]
    .map(printable)
    .join('\n');
}

function ownerOf({ app, instance }: Pick<ShownWebhook, 'app' | 'instance'>): string {
  return app === null ? `instance ${instance}` : `app ${app}`;
}

function idOf({ given }: Invocation): string {
  return onlyOperand(given, 'which webhook? Its id is missing; see: fanfare webhooks list');
}

function noSuchWebhook(call: Call): ExitCode {
  return fail(call, `there is no webhook ${idOf(call)}; see: fanfare webhooks list`);
}
