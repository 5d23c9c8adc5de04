/** Five bits each; from the second half, another digit follows. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const BASE = DIGITS.length / 2;

const values = new Map([...DIGITS].map((digit, value) => [digit, value]));

/**
 * Writes the numbers of a page's devices, in device order, as a short text: each as its distance to the one
 * before it, so that a dense audience takes one or two characters for each.
 */
export function writeDevices(numbers: readonly number[]): string {
  let text = '';
  let last = 0;
  for (const number of numbers) {
    let rest = number - last;
    if (!Number.isSafeInteger(number) || rest <= 0) {
      throw new Error('the devices of a page are not in device order');
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

/** Reads what `writeDevices` wrote. */
export function readDevices(text: string): readonly number[] {
  const numbers: number[] = [];
  let last = 0;
  let distance = 0;
  let weight = 1;
  for (const digit of text) {
    const value = values.get(digit);
    if (value === undefined) throw new Error('the devices of a page cannot be read');
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
