import { isGiven } from '../../runtime/json-object.ts';
import { PER_SECOND_MAX } from '../model/pace.ts';
import { FieldFault } from '../refusal.ts';

/** Reads how many notifications a publish sends per second; `undefined`: as many as its gateways take. */
export function readPerSecondField(
  value: unknown,
): { readonly perSecond: number | undefined } | FieldFault {
  if (!isGiven(value)) return { perSecond: undefined };
  const perSecond = readPerSecond(value);
  return perSecond === undefined
    ? new FieldFault('perSecond', `must be a whole number from 1 to ${PER_SECOND_MAX}`)
    : { perSecond };
}

/** The same of a publish that was accepted. */
export function readPerSecond(value: unknown): number | undefined {
  return typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= 1 &&
    value <= PER_SECOND_MAX
    ? value
    : undefined;
}
