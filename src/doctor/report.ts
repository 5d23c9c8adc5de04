import { printable } from '../runtime/printable.ts';
import { redactUrls } from '../runtime/redact.ts';
import { type Finding, notChecked } from './finding.ts';

/** Every check there is, in the order in which they are made. */
export const checkNames = [
  'url',
  'dns',
  'tcp',
  'tls',
  'api-dns',
  'api-tcp',
  'api-tls',
  'http',
  'redirect',
  'clock',
  'keep-alive',
  'websocket',
  'first-message',
  'activity-timeout',
  'pusher-ping',
  'websocket-ping',
  'second-connection',
  'public-channel',
  'private-channel',
  'signed-request',
  'trigger',
  'delivery',
  'unchanged-data',
  'excluded-connection',
  'large-header',
  'large-body',
  'idle',
  'close',
] as const;

export type CheckName = (typeof checkNames)[number];

/** One check as it is printed. */
export interface Check {
  readonly name: CheckName;
  readonly result: Finding['result'];
  readonly detail: string;
  /** How to mend it; empty where there is nothing to mend. */
  readonly advice: string;
}

/** Collects what was found. Whatever is told to it has the secret taken out first. */
export class Report {
  readonly checks: Check[] = [];
  private readonly secret: string | undefined;
  private readonly tell: (check: Check) => void;

  /** `tell` hears each check as soon as it is made. */
  constructor(secret: string | undefined, tell: (check: Check) => void) {
    this.secret = secret;
    this.tell = tell;
  }

  add(name: CheckName, finding: Finding): Finding['result'] {
    const check: Check = {
      name,
      result: finding.result,
      detail: this.withoutSecret(finding.detail),
      advice: 'advice' in finding ? this.withoutSecret(finding.advice) : '',
    };
    this.checks.push(check);
    this.tell(check);
    return check.result;
  }

  /** Tells why some checks are not made; those that were made are left alone. */
  skip(names: readonly CheckName[], why: string): void {
    const made = new Set(this.checks.map(({ name }) => name));
    for (const name of names) if (!made.has(name)) this.add(name, notChecked(why));
  }

  /** Gives every check that was not reached a reason: the first one that failed. */
  finish(): void {
    const first = this.checks.find(({ result }) => result === 'failed');
    this.skip(checkNames, first === undefined ? 'not reached' : `because "${first.name}" failed`);
  }

  get ok(): boolean {
    return this.checks.every(({ result }) => result !== 'failed');
  }

  /** What is wrong, in one line that can be printed. */
  get conclusion(): string {
    return printable(this.conclude());
  }

  private conclude(): string {
    const of = (result: Finding['result']) =>
      this.checks.filter((check) => check.result === result);
    const [broken, ...more] = of('failed');
    const warnings = of('warning');
    if (broken !== undefined) {
      const others = more.length === 0 ? '' : ` (${more.length} more failed; mend this one first)`;
      return `What is wrong: ${broken.detail}${others}`;
    }
    const checked = `${of('ok').length} checks are ok`;
    const [first] = warnings;
    if (first === undefined) return `Nothing is wrong: ${checked}.`;
    return `It works, with ${warnings.length} warning${warnings.length === 1 ? '' : 's'}: ${first.detail}`;
  }

  /** Servers quote what they were sent; the secret itself is never sent, and never shown either. */
  private withoutSecret(text: string): string {
    const shown = redactUrls(text);
    return this.secret === undefined || this.secret === ''
      ? shown
      : shown.replaceAll(this.secret, '(the secret)');
  }
}

const marks: Record<Finding['result'], string> = {
  ok: '✓',
  warning: '!',
  failed: '✗',
  'not checked': '–',
};

const NAME_WIDTH = Math.max(...checkNames.map((name) => name.length));

/** One check as text: a line with a mark, and the advice indented under it. */
export function formatCheck({ name, result, detail, advice }: Check): string {
  const said = result === 'not checked' ? `not checked: ${detail}` : detail;
  // Servers are quoted in it.
  const lines = [`${marks[result]} ${name.padEnd(NAME_WIDTH)}  ${printable(said)}`];
  if (advice !== '') lines.push(...advice.split('\n').map((line) => `    ${printable(line)}`));
  return lines.join('\n');
}
