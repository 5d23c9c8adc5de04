import { z } from 'zod';
import { isObject } from '../config/settings/plain-json.ts';
import { yesNo } from './query-kinds.ts';

/** The query of operations that can show secrets. */
export const secretsQuery = z.strictObject({ secrets: yesNo('Whether to show secrets too.') });

/** Where an app or instance is defined. */
export function tenantSource(noun: 'app' | 'instance') {
  return z
    .enum(['configuration', 'store'])
    .describe(`Where the ${noun} is kept. Settings in the configuration are changed there.`);
}

/** The tenants of a list that the server leaves out. */
export function notServedList(noun: 'app' | 'instance') {
  return z
    .array(z.strictObject({ id: z.string(), why: z.string() }))
    .describe(`Stored ${noun}s that cannot be served.`);
}

/** The terms that operations on one tenant share. */
export function onTenant<Answer extends z.ZodType>(answer: Answer) {
  return { answer, refusals: ['not-found', 'conflict'] } as const;
}

/** The query of operations that change a tenant. */
export const changeQuery = z.strictObject({
  'dry-run': z
    .enum(['', 'true', 'false'])
    .default('false')
    .describe('Check the change and show what it would do, without making it.'),
});

/** Whether a call only asks what an operation would do. */
export function isDryRun({ 'dry-run': dryRun }: { readonly 'dry-run'?: string }): boolean {
  return dryRun === '' || dryRun === 'true';
}

/** The answer of operations that change a tenant. */
export function changedTenant<Shown extends z.ZodObject>(shown: Shown) {
  return shown.extend({
    changes: z
      .array(
        z
          .strictObject({
            setting: z.string().describe('For example `limits.connections`.'),
            before: z.unknown().optional(),
            after: z.unknown().optional(),
          })
          .meta({ id: 'SettingChange' }),
      )
      .optional()
      .describe(
        'Only of a dry run: what would change. `before` and `after` are left out where there is nothing, and for secrets.',
      ),
  });
}

interface Change {
  readonly setting: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Shows how a tenant would be after a change, without its secrets, and which settings differ. */
export function showTried<Kept extends { readonly tenant: object }, Shown extends object>(
  [before, after]: readonly [before: Kept, after: Kept],
  show: (kept: Kept, withSecrets: boolean) => Shown,
) {
  const [shown, wouldBe] = [show(before, false), show(after, false)];
  return { ...wouldBe, changes: changesOf([before.tenant, after.tenant], [shown, wouldBe]) };
}

/** Compares settings, and shows those that differ as they are shown. */
function changesOf(
  [before, after]: readonly [whole: object, whole: object],
  [shownBefore, shownAfter]: readonly [shown: object, shown: object],
): readonly Change[] {
  const [from, to] = [flat(before), flat(after)];
  const [shownFrom, shownTo] = [flat(shownBefore), flat(shownAfter)];
  return [...new Set([...from.keys(), ...to.keys()])]
    .filter((setting) => !Bun.deepEquals(from.get(setting), to.get(setting)))
    .map((setting) => ({
      setting,
      before: shownFrom.get(setting),
      after: shownTo.get(setting),
    }));
}

/** Settings by their paths. Lists stay whole. */
function flat(settings: object, above = ''): Map<string, unknown> {
  return new Map(
    Object.entries(settings).flatMap(([name, value]: [string, unknown]) =>
      isObject(value)
        ? [...flat(value, `${above}${name}.`)]
        : [[`${above}${name}`, value] as const],
    ),
  );
}
