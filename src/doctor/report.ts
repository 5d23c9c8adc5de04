import { printable } from '../runtime/logging/printable.ts';
import { redactUrls } from '../runtime/logging/redact.ts';
import {
  type CheckName,
  checkNames,
  clusterCheckNames,
  redisCheckNames,
  storeCheckNames,
} from './check-names.ts';
import type { Finding } from './finding.ts';

/** One check as it is printed. */
export interface CheckResult {
  readonly name: CheckName;
  readonly result: Finding['result'];
  readonly detail: string;
  /** How to fix it; empty if nothing is wrong. */
  readonly advice: string;
}

/** Collects the results, without the secret. */
export class DoctorReport {
  readonly checks: CheckResult[] = [];
  private readonly secret: string | undefined;
  private readonly onCheck: (check: CheckResult) => void;

  /** `onCheck` is called with each check as soon as it is made. */
  constructor(secret: string | undefined, onCheck: (check: CheckResult) => void) {
    this.secret = secret;
    this.onCheck = onCheck;
  }

  add(name: CheckName, finding: Finding): void {
    const check: CheckResult = {
      name,
      result: finding.result,
      detail: this.withoutSecret(finding.detail),
      advice: 'advice' in finding ? this.withoutSecret(finding.advice) : '',
    };
    this.checks.push(check);
    this.onCheck(check);
  }

  /** A check that was made. */
  of(name: CheckName): CheckResult | undefined {
    return this.checks.find((check) => check.name === name);
  }

  get firstFailed(): CheckName | undefined {
    return this.checks.find(({ result }) => result === 'failed')?.name;
  }

  get ok(): boolean {
    return this.checks.every(({ result }) => result !== 'failed');
  }

  /** What is wrong, in one printable line. */
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

  /** The secret is never sent, so no server can quote it. This is for mistakes, such as a secret in the URL. */
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

const NAME_WIDTH = Math.max(
  ...[...checkNames, ...redisCheckNames, ...storeCheckNames, ...clusterCheckNames].map(
    ({ length }) => length,
  ),
);

/** One check as text: a line with a mark, and the advice indented under it. */
export function formatCheck({ name, result, detail, advice }: CheckResult): string {
  const said = result === 'not checked' ? `not checked: ${detail}` : detail;
  // It may quote a server.
  const lines = [`${marks[result]} ${name.padEnd(NAME_WIDTH)}  ${printable(said)}`];
  if (advice !== '') lines.push(...advice.split('\n').map((line) => `    ${printable(line)}`));
  return lines.join('\n');
}
