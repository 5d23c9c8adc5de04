import { describe, expect, it } from 'bun:test';
import { configSchema } from '../../config/schema.ts';
import { logMemory, planMemory } from './plan-memory.ts';

const MIB = 1_048_576;

function logged(mebibytes: number, settings: object = {}) {
  const config = configSchema.parse({ realtime: { threads: 1 }, ...settings });
  const lines: [level: string, message: string, fields: object][] = [];
  const at = (level: string) => (message: string, fields?: object) =>
    void lines.push([level, message, fields ?? {}]);
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  logMemory(planMemory(config, { bytes: mebibytes * MIB, from: 'container' }), log);
  return lines;
}

describe('the memory of a server', () => {
  it('is logged with its shares', () => {
    const [line, ...others] = logged(256);
    expect(line).toMatchObject(['info', 'Memory is divided among all bounds', { memoryMiB: 256 }]);
    expect(String(line?.[2] && Object.values(line[2])[2])).toStartWith('own 104, connections ');
    expect(others).toEqual([]);
    expect(logged(16_384)).toMatchObject([['info', 'Memory: all bounds are the usual ones', {}]]);
  });

  it('is warned about below the smallest that is supported, and refused below what a server needs', () => {
    const [, warning] = logged(200);
    expect(warning?.slice(0, 2)).toEqual(['warn', 'Less memory than a server is tested with']);
    expect(() => logged(100)).toThrow(
      'memoryBytes: 100 MiB (the limit of the container) are too little: a server with 1 realtime thread needs 137 MiB',
    );
  });

  it('is warned about if the settings of bounds exceed it', () => {
    const [, warning] = logged(512, { channels: { historyBytes: 400 * MIB } });
    expect(warning).toMatchObject([
      'warn',
      'Bounds that are set take more memory than there is',
      {},
    ]);
  });
});
