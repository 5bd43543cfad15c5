package duration

import (
	"fmt"
	"math"
	"strings"
	"time"

	iso8601 "github.com/sosodev/duration"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// Max is the maximum duration: 100 years of 366 days.
const Max = 100 * 366 * 24 * time.Hour

// Parts are the parts of an ISO 8601 duration. The length of its years and months depends on the date.
type Parts struct {
	Years, Months int
	Exact         time.Duration // weeks (7 days), days (24 h), hours and below
}

var isoPattern = lazyregexp.New(`^P(\d+(?:\.\d+)?Y)?(\d+(?:\.\d+)?M)?(\d+(?:\.\d+)?W)?(\d+(?:\.\d+)?D)?(T(\d+(?:\.\d+)?H)?(\d+(?:\.\d+)?M)?(\d+(?:\.\d+)?S)?)?$`)

// maxISO is the maximum length of an ISO 8601 duration. The library takes a time that grows with the square of the length.
const maxISO = 1000

// ParseISO parses an ISO 8601 duration such as P1DT2.5S without a sign. Its years and months are whole, and it is at most a hundred years.
func ParseISO(text string) (Parts, error) {
	if len(text) > maxISO {
		return Parts{}, fmt.Errorf("%s is not an ISO 8601 duration: it has more than %d characters", shorten.Quoted(text), maxISO)
	}
	if !isoPattern().MatchString(text) || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return Parts{}, fmt.Errorf("%s is not an ISO 8601 duration such as PT2S or P1DT12H", shorten.Quoted(text))
	}
	read, err := iso8601.Parse(text)
	if err != nil {
		return Parts{}, fmt.Errorf("%s is not an ISO 8601 duration: %w", shorten.Quoted(text), err)
	}
	if read.Years != math.Trunc(read.Years) || read.Months != math.Trunc(read.Months) {
		return Parts{}, fmt.Errorf("%s has a part of a year or month, whose length nobody knows", shorten.Quoted(text))
	}
	hours := (read.Weeks*7+read.Days)*24 + read.Hours
	seconds := hours*3600 + read.Minutes*60 + read.Seconds
	if read.Years+read.Months/12 > 100 || seconds > Max.Seconds() {
		return Parts{}, fmt.Errorf("%s %w", shorten.Quoted(text), errTooLong)
	}
	const day = 24 * time.Hour
	exact := amount(read.Weeks, 7*day) + amount(read.Days, day) + amount(read.Hours, time.Hour) +
		amount(read.Minutes, time.Minute) + amount(read.Seconds, time.Second)
	return Parts{Years: int(read.Years), Months: int(read.Months), Exact: exact}, nil
}

// amount returns n units; whole units are counted separately, so that no digits are lost.
func amount(n float64, unit time.Duration) time.Duration {
	whole, fraction := math.Modf(n)
	return time.Duration(whole)*unit + time.Duration(math.Round(fraction*float64(unit)))
}
