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
