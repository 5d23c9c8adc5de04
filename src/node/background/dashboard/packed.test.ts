import { expect, it } from 'bun:test';
import type { Bundle } from './assets.ts';
import { bundleDashboard } from './bundle.ts';
import { PREFIX_MARK, packed, unpacked } from './packed.ts';

const texts = ({ page, assets, open }: Bundle) => ({
  page: new TextDecoder().decode(page.plain),
  assets: Array.from(assets.values(), ({ plain }) => new TextDecoder().decode(plain)).join('\n'),
  types: Array.from(assets.values(), ({ contentType }) => contentType).sort(),
  open: open.size,
});

it('is the same dashboard as that of the bundler, under any prefix', async () => {
  const dashboard = packed(await bundleDashboard(PREFIX_MARK));
  for (const prefix of ['', '/ops/fanfare']) {
    const bundled = texts(await bundleDashboard(prefix));
    const got = texts(unpacked(JSON.parse(JSON.stringify(dashboard)), prefix));

    expect({ types: got.types, open: got.open }).toEqual({
      types: bundled.types,
      open: bundled.open,
    });
    expect(got.page + got.assets).not.toContain(PREFIX_MARK);
    expect(got.page).toContain(`"${prefix}/dashboard/assets/`);
    expect(got.assets.length).toBe(bundled.assets.length);
  }
});

it('names only assets that it has', async () => {
  const { page, assets } = unpacked(packed(await bundleDashboard(PREFIX_MARK)), '/x');
  const all = [page, ...assets.values()].map(({ plain }) => new TextDecoder().decode(plain));
  const named = new Set(
    [...all.join('\n').matchAll(/\/x\/dashboard\/assets\/([\w.-]+)/g)].map(([, name]) => name),
  );

  expect(named.size).toBeGreaterThan(3);
  expect([...named].filter((name) => !assets.has(name ?? ''))).toEqual([]);
});

it('leaves nothing of a strange prefix that could end a text or a tag', async () => {
  const dashboard = packed(await bundleDashboard(PREFIX_MARK));
  const { page } = unpacked(dashboard, '/"><script>');

  expect(new TextDecoder().decode(page.plain)).toContain('/%22%3e%3cscript%3e/dashboard/assets/');
});
