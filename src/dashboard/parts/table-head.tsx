/** The name of a column, or of a column of figures, which stand on the right. */
export type Column = string | { readonly number: string };

export function TableHead({ columns }: { readonly columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) =>
          typeof column === 'string' ? (
            <th key={column} scope="col">
              {column}
            </th>
          ) : (
            <th key={column.number} scope="col" class="number">
              {column.number}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}
