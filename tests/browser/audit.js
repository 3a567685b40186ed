// Returns what a reader with other eyes, other hands or another screen would stumble over, as a list of sentences.
(() => {
  const found = [];
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });

  let level = 0;
  for (const heading of document.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) found.push(`heading jumps from ${level} to ${next}: ${heading.textContent}`);
    if (!heading.textContent.trim()) found.push("an empty heading");
    level = next;
  }
  if (document.querySelectorAll("h1").length !== 1) found.push("not exactly one h1");
  if (document.querySelectorAll("main").length !== 1) found.push("not exactly one main");
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title.trim()) found.push("no title");

  for (const control of document.querySelectorAll("input,select,textarea,button")) {
    const named = control.labels?.length || control.getAttribute("aria-label") || control.textContent.trim();
    if (!named || (control.labels?.length && !control.labels[0].textContent.trim())) found.push(`no label: ${control.id}`);
  }
  for (const link of document.querySelectorAll("a")) {
    if (!document.getElementById(link.getAttribute("href").slice(1))) found.push(`leads nowhere: ${link.outerHTML}`);
  }
  const ids = Array.from(document.querySelectorAll("[id]"), (element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) found.push(`id stands twice: ${id}`);
  for (const table of document.querySelectorAll("table")) {
    if (!table.querySelector("th[scope=col]")) found.push("a table without column headers");
  }
  for (const drawing of document.querySelectorAll("svg")) {
    if (drawing.getAttribute("aria-hidden") !== "true") found.push("a drawing that is read out without a name");
  }

  const parts = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const light = (channel) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * light(r / 255) + 0.7152 * light(g / 255) + 0.0722 * light(b / 255);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length && colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement;
    if (!text.data.trim() || ["SCRIPT", "STYLE"].includes(element.tagName) || !seen(element)) continue;
    const [one, other] = [luminance(parts(getComputedStyle(element).color)), luminance(ground(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${text.data.trim().slice(0, 40)}`);
    if (parseFloat(getComputedStyle(element).fontSize) < 12) found.push(`small: ${text.data.trim().slice(0, 40)}`);
  }

  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    if (seen(element) && box.width > 1 && box.right > document.documentElement.clientWidth + 1) {
      found.push(`too wide: ${element.tagName} ${element.className} ${Math.round(box.right)}`);
    }
  }
  return found;
})();
