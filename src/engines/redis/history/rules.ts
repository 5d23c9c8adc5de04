import { createHash } from 'node:crypto';
import type { App } from '../../../channels/app.ts';

const texts = new WeakMap<App['history'], string>();

/** A fingerprint of the channel names in the rules of an app. A disabled app has that of no rules. */
export function rulesText(app: App): string {
  if (!app.enabled || app.history.length === 0) return '';
  const { history } = app;
  const known = texts.get(history);
  if (known !== undefined) return known;
  const names = JSON.stringify(history.map(({ channels }) => channels));
  const text = createHash('sha256').update(names).digest('hex').slice(0, 16);
  texts.set(history, text);
  return text;
}

/** The rules of all apps, as arguments for `RULES`. */
export function statedRules(apps: Iterable<App>): readonly string[] {
  const stated: string[] = [];
  for (const app of apps) {
    const text = rulesText(app);
    if (text !== '') stated.push(app.id, text);
  }
  return stated;
}
