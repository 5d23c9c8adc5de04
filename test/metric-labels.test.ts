import { expect, it } from 'bun:test';
import { metricRows } from '../src/observability/metrics-table.ts';
import { closeCodes } from '../src/transports/clients/closing/close-codes.ts';

/** `/metrics` prints only the labels that the table of metrics lists: what is counted under another one is not seen. */

/** The codes that only end connections which were accepted, so that no refusal is counted under them. */
const ENDS_ONLY = [1003, 1008, 1011, 4009, 4201];

it('each close code with which a connection can be refused has a series', () => {
  const codes = Object.values(closeCodes).map(({ code }) => code);
  const refusing = codes.filter((code) => !ENDS_ONLY.includes(code)).map(String);
  expect(metricRows.connectionsRefused.label.values).toEqual(expect.arrayContaining(refusing));
});
