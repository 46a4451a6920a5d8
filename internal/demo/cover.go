package demo

import (
	"bytes"
	"image"
	"image/color"
	"image/color/palette"
	"image/png"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

// cover draws the thumbnail of a cover: a cloth of the genre's colour with a
// paper label on it.
func cover(genre libraryv1.Genre) []byte {
	const width, height = 8, 12
	cloth := palette.WebSafe[(7+19*int(genre))%len(palette.WebSafe)]
	img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{cloth, color.White})
	for x := 2; x < width-2; x++ {
		for y := 2; y < 5; y++ {
			img.SetColorIndex(x, y, 1)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil
	}
	return out.Bytes()
}
