/** Each digit has five bits. A digit of the second half is followed by another. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const BASE = DIGITS.length / 2;

const values = new Map([...DIGITS].map((digit, value) => [digit, value]));

/**
 * Encodes the ascending device numbers of a page by the distance to the number before, so that a dense audience takes one
 * or two characters per device.
 */
export function writeDevices(numbers: readonly number[]): string {
  let text = '';
  let last = 0;
  for (const number of numbers) {
    let rest = number - last;
    if (!Number.isSafeInteger(number) || rest <= 0) {
      throw new Error('The devices of a page must be in ascending order');
    }
    last = number;
    while (rest >= BASE) {
      text += DIGITS.charAt(BASE + (rest % BASE));
      rest = Math.floor(rest / BASE);
    }
    text += DIGITS.charAt(rest);
  }
  return text;
}

/** Decodes the result of `writeDevices`. */
export function readDevices(text: string): readonly number[] {
  const numbers: number[] = [];
  let last = 0;
  let distance = 0;
  let weight = 1;
  for (const digit of text) {
    const value = values.get(digit);
    if (value === undefined) throw new Error('The stored devices of a page cannot be decoded');
    distance += (value % BASE) * weight;
    if (value >= BASE) {
      weight *= BASE;
      continue;
    }
    last += distance;
    numbers.push(last);
    distance = 0;
    weight = 1;
  }
  return numbers;
}
