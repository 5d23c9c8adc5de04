import { z } from 'zod';

interface WholeNumber {
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
  readonly description: string;
}

/** A whole number in a query. */
export function numberIn({ min, max, fallback, description }: WholeNumber) {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z
    .preprocess(
      (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
      z
        .number({ error: rule })
        .int({ error: rule })
        .min(min, { error: rule })
        .max(max, { error: rule }),
    )
    .default(fallback)
    .describe(description);
}

/** The length of a list in a query. */
export function listLimit(fallback: number) {
  return numberIn({ min: 1, max: 1000, fallback, description: 'How many to list at most.' });
}

/** A boolean in a query. */
export function yesNo(description: string) {
  return z.enum(['true', 'false']).default('false').describe(description);
}

/** The longest name or text that can be searched for. */
const TEXT_MAX = 200;

/** A text of a filter. */
export function filterText(description: string) {
  return z.string().min(1).max(TEXT_MAX).optional().describe(description);
}

/** Some of the kinds of a live stream, separated by commas. */
export function someOf<Kind extends string>(kinds: readonly Kind[]) {
  return z
    .string()
    .transform((list, context) => {
      const named = list.split(',').map((name) => name.trim());
      const known = kinds.filter((kind) => named.includes(kind));
      if (named.every((name) => kinds.some((kind) => kind === name))) return known;
      const message = `must be some of ${kinds.join(', ')}, separated by commas`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .optional()
    .describe(`Show only these kinds, separated by commas: ${kinds.join(', ')}. Default: all.`);
}
