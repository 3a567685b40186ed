"use strict";
(() => {
  const table = document.getElementById("probe-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const controls = document.getElementById("controls");
  const text = document.getElementById("filter-text");
  const verdict = document.getElementById("filter-verdict");
  const sort = document.getElementById("sort");
  const count = document.getElementById("count");
  const words = new Map(rows.map((row) => [row, row.querySelector(".name").textContent.toLowerCase()]));
  const place = new Map(rows.map((row, at) => [row, at]));

  const number = (row, key) => (row.dataset[key] ? Number(row.dataset[key]) : null);
  const by = (key, sign) => (one, other) => {
    const [a, b] = [number(one, key), number(other, key)];
    if (a === null || b === null) return (a === null) - (b === null) || place.get(one) - place.get(other);
    return sign * (a - b) || place.get(one) - place.get(other);
  };
  const orders = {
    changed: (one, other) => place.get(one) - place.get(other),
    drop: by("drop", -1),
    p: by("p", 1),
    name: (one, other) => words.get(one).localeCompare(words.get(other)) || place.get(one) - place.get(other),
  };

  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.get(row).includes(wanted) || (verdict.value !== "" && row.dataset.verdict !== verdict.value);
      if (!row.hidden) shown += 1;
    }
    count.textContent = `${shown} of ${rows.length} shown`;
  };
  const arrange = () => body.append(...rows.slice().sort(orders[sort.value] || orders.changed));

  text.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  sort.addEventListener("change", arrange);
  controls.hidden = false;
  filter();
})();
